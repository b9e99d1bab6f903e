"""Machines as graphs of directed links: topologies, routes, cuts, builders, and who shares a link with whom."""
