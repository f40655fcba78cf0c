"""Existing nodes, and what is free on them."""
