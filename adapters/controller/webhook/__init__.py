"""The conversion webhook: its answers, its server, and its certificates."""
