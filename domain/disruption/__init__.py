"""Nodes that are given back by choice: candidates, budgets, drift, expiry and repair.

In: nodes in use and their pools. Out: proposals, and whether they are accepted. Used by Disruptor,
BudgetArbiter and NodeRepairer.
"""
