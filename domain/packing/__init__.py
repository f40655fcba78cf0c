"""Packing: from a problem to a plan of where pods go, and nothing else. The entry is `pack.pack`."""
