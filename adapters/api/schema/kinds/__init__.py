"""The definitions, one module a kind."""
