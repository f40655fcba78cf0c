"""Where pods go: from a problem to a plan, and nothing else. The entry is `pack.pack`."""
