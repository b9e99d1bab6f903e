"""Reads what a learner's own machine prints, judges it, and measures."""
