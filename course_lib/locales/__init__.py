"""Catalogues of the languages the course speaks, and what extracts, fills and checks them."""
