"""Consolidation: which nodes of a cluster may go, where their pods go, and what that saves.

In: a `ConsolidationProblem`, the cluster with the nodes that may go. Out: a `ConsolidationPlan`, moves in the
order they should be made, each of which holds whether or not later ones are made, and why other nodes stay.
The `Solver` port runs it for the Consolidator; `treenail plan` runs it on files.
"""
