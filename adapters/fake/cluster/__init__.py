"""A Kubernetes cluster in memory and virtual time, to embed in tests and rehearsals."""

from __future__ import annotations

from treenail.adapters.fake.cluster.cluster import FakeCluster
from treenail.adapters.fake.cluster.daemon_sets import EKS_DAEMONS
from treenail.adapters.fake.cluster.event_log import EventRecord
from treenail.adapters.fake.cluster.objects import Change
from treenail.adapters.fake.cluster.settings import ClusterFaults, ClusterSettings

__all__ = ["EKS_DAEMONS", "Change", "ClusterFaults", "ClusterSettings", "EventRecord", "FakeCluster"]
