"""Spans, metrics and the fields of log lines, as values.

In: the model. Out: what the `Telemetry` port records. Used by whoever decides or acts.
"""
