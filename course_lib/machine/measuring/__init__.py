"""Measuring: real collectives and copies of this computer, run by processes, checked, timed, and laid beside a model."""
