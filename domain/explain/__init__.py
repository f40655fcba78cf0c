"""Sentences and events for people: why a pod or a node is where it is.

In: objects of a cluster. Out: statements and events. Used by EventTeller and the command line.
"""
