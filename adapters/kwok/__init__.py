"""KWOK: nodes without machines."""
