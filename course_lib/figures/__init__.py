"""Results in, a Plotly figure out: no model, no widget."""
