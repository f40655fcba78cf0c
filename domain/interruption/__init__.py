"""Warnings of EC2: messages of the queue and status checks, read and answered.

In: messages and statuses. Out: which nodes are interrupted, why and until when. Used by
InterruptionListener and StatusPoller.
"""
