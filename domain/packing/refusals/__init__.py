"""Refusals: why pods could not be placed, pool by pool.

In: a pod class without a place, templates, what is left of limits and the counts of topology groups. Out: one
`Refusal` a pool. Used by `attempt`, once a plan stands. What would help is the business of `advice`.
"""
