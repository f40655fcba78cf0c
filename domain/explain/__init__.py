"""Sentences and events for people: why a pod or a node is where it is.

In: objects of a cluster. Out: statements and events. Used by EventPublisher and the command line.
"""
