"""The report: one HTML page, complete in itself, that shows nodes, pods, money and decisions over time."""
