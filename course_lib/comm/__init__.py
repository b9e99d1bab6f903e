"""Collectives: what they promise, schedules that fulfil it, running and proving them on NumPy."""
