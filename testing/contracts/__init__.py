"""Test classes to derive from, of what every implementation of a port must do. They need pytest."""

from __future__ import annotations

from treenail.testing.contracts.claims import ClaimContract, ClusterSubject
from treenail.testing.contracts.clouds import CloudContract, CloudSubject
from treenail.testing.contracts.feeds import FeedContract
from treenail.testing.contracts.queues import QueueContract, QueueSubject

__all__ = [
    "ClaimContract",
    "CloudContract",
    "CloudSubject",
    "ClusterSubject",
    "FeedContract",
    "QueueContract",
    "QueueSubject",
]
