"""Many links: topologies as directed links in arrays, their builders, routes, cuts and who shares what."""
