"""Workloads and quotas of a real API server: how many pods they want, and how many may be made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.real.kubernetes.test_reader import Rig, write
from tests.real.parts.binaries import NotBuiltError
from tests.real.parts.control_plane import PARTS, ControlPlane
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.resource_quotas import ResourceQuota

PATHS: Final = {
    "ReplicaSet": "/apis/apps/v1/namespaces/default/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/default/statefulsets",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
    "ResourceQuota": "/api/v1/namespaces/default/resourcequotas",
}


@pytest.fixture(scope="module")
def parts() -> Iterator[ControlPlane]:
    """An API server without controllers: nothing becomes of the workloads."""
    try:
        own = ControlPlane(without=PARTS[2:])
    except NotBuiltError as error:
        pytest.skip(str(error))
    with own:
        yield own


def workload(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    pods: dict[str, Any] = {"containers": [{"name": "c", "image": "pause"}]}
    if kind == "Job":
        pods["restartPolicy"] = "Never"
    template = {"metadata": {"labels": labels}, "spec": pods}
    selector = {} if kind == "Job" else {"selector": {"matchLabels": labels}}
    return {"kind": kind, "metadata": {"name": name}, "spec": {**selector, "template": template, **spec}}


def test_workloads_are_known_for_as_long_as_they_want_pods(parts: ControlPlane) -> None:
    rig = Rig(parts)

    def wanted() -> dict[str, tuple[int, str]]:
        found = [thing for thing in rig.mirror.holds.values() if isinstance(thing, Workload)]
        return {one.name: (one.wanted, one.held) for one in found}

    write(parts, "POST", PATHS["ReplicaSet"], workload("ReplicaSet", "old", replicas=0))
    write(parts, "POST", PATHS["ReplicaSet"], workload("ReplicaSet", "new", replicas=3))
    mirror = rig.start()
    assert wanted() == {"new": (3, "")}

    write(parts, "POST", PATHS["Job"], workload("Job", "sum", parallelism=4, completions=9))
    write(parts, "POST", PATHS["StatefulSet"], workload("StatefulSet", "db", serviceName="db"))
    unseen = "its controller has not seen its last change"
    mirror.until(lambda: wanted() == {"new": (3, ""), "sum": (4, ""), "db": (1, unseen)})

    write(parts, "PATCH", f"{PATHS['Job']}/sum", {"spec": {"suspend": True}}, "merge-patch")
    write(parts, "PATCH", f"{PATHS['ReplicaSet']}/new", {"spec": {"replicas": 0}}, "merge-patch")
    write(parts, "PATCH", f"{PATHS['ReplicaSet']}/old", {"spec": {"replicas": 2}}, "merge-patch")
    status = {"status": {"replicas": 1, "observedGeneration": 1, "updateRevision": "db-1"}}
    write(parts, "PATCH", f"{PATHS['StatefulSet']}/db/status", status, "merge-patch")
    mirror.until(lambda: wanted() == {"old": (2, ""), "sum": (4, "suspended"), "db": (1, "")})

    rig.close()


def test_quotas_are_known_with_what_is_used_of_them(parts: ControlPlane) -> None:
    rig = Rig(parts)

    def known() -> dict[str, tuple[dict[str, int], dict[str, int], int]]:
        found = [thing for thing in rig.mirror.holds.values() if isinstance(thing, ResourceQuota)]
        return {one.key: (dict(one.hard), dict(one.used), len(one.scopes)) for one in found}

    classes = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    spec: dict[str, Any] = {
        "hard": {"pods": "10", "limits.memory": "1Gi"},
        "scopes": ["NotTerminating"],
        "scopeSelector": {"matchExpressions": [classes]},
    }
    quota = {"kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": spec}
    write(parts, "POST", PATHS["ResourceQuota"], quota)
    mirror = rig.start()
    hard = {"pods": 10, "limits.memory": 2**30}
    assert known() == {"default/small": (hard, {}, 2)}

    status = {"status": {"hard": spec["hard"], "used": {"pods": "3", "limits.memory": "100Mi"}}}
    write(parts, "PATCH", f"{PATHS['ResourceQuota']}/small/status", status, "merge-patch")
    mirror.until(lambda: known() == {"default/small": (hard, {"pods": 3, "limits.memory": 100 * 2**20}, 2)})

    write(parts, "DELETE", f"{PATHS['ResourceQuota']}/small")
    mirror.until(lambda: known() == {})

    rig.close()
