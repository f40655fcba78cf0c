"""Conditions and status fields of pools and node classes.

In: pools, node classes and what the cloud says of them. Out: what their status should show. Used by
StatusReporter, NodeClassController and PoolUsageReporter.
"""
