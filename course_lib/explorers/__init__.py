"""Controls joined to a model and a figure: one small module per notebook."""
