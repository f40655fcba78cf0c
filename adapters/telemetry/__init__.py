"""Spans, metrics and log lines, as operators collect them."""
