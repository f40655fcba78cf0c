"""ReplicaSets, StatefulSets and Jobs of a real API server: how many pods they want, as they are changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.real.kubernetes.test_reader import Rig, write
from tests.real.parts.binaries import NotBuiltError
from tests.real.parts.control_plane import PARTS, ControlPlane
from treenail.domain.cluster.workloads import Workload

PATHS: Final = {
    "ReplicaSet": "/apis/apps/v1/namespaces/default/replicasets",
    "StatefulSet": "/apis/apps/v1/namespaces/default/statefulsets",
    "Job": "/apis/batch/v1/namespaces/default/jobs",
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
