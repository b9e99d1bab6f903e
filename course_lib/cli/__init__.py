"""The command line: interconnect."""
