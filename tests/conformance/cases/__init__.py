"""The cases, suite by suite."""
