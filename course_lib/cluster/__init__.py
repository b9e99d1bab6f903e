"""Scaling, failures, cost and targets of whole clusters."""
