"""Judging: what was read, held against what the machine should do; findings, and causes with a test for each."""
