"""Planned nodes while a plan is made, and how they become the claims of a plan.

Pod groups go in, planned nodes are what `nodes` makes of them, and claims come out. Used by `placement`,
`nodes`, `one_by_one` and `attempt`.
"""
