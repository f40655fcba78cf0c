from __future__ import annotations

import pytest

from tests.bench.real.api_load import table, what
from tests.bench.real.large import told
from tests.real.kubernetes.faults import Asked


@pytest.mark.parametrize(
    ("method", "target", "said"),
    [
        ("GET", "/api/v1/pods?limit=500", "list pods"),
        ("GET", "/api/v1/namespaces/default/pods", "list pods"),
        ("GET", "/api/v1/namespaces/default", "get namespaces"),
        ("GET", "/api/v1/nodes/one", "get nodes"),
        ("GET", "/apis/karpenter.sh/v1/nodeclaims?watch=1", "watch nodeclaims"),
        ("POST", "/api/v1/namespaces/default/pods/one/eviction", "create pods/eviction"),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/one", "update leases"),
        ("PATCH", "/apis/karpenter.sh/v1/nodeclaims/one/status", "patch nodeclaims/status"),
        ("GET", "/version", "get /version"),
    ],
)
def test_requests_are_called_as_rbac_calls_them(method: str, target: str, said: str) -> None:
    assert what(Asked(0.0, method, target)) == said


def test_requests_are_shown_by_verb_and_kind_and_in_all() -> None:
    run = {"rest": {"list pods": 1.0}, "draining": {"list pods": 2.0, "create events": 0.5}}

    lines = table({"treenail": run}).splitlines()

    assert lines[0] == "|  | treenail, rest | treenail, draining |"
    assert lines[2:] == ["| create events | 0 | 0.5 |", "| list pods | 1 | 2 |", "| in all | 1 | 2.5 |"]


def test_what_a_controller_heard_is_summed_up() -> None:
    notes = (
        "heard 1.0 0.2\nlist 1.0 3.5 pods\nlist 1.0 9.0 nodes\nheard 2.0 0.1\nheard 3.0 0.9\nresync 1.0 0.4\n"
    )

    said = told(notes)

    assert (said["heard"], said["heard_median_seconds"], said["heard_latest_seconds"]) == (3, 0.2, 0.9)
    assert (said["lists_of_pods"], said["list_of_pods_seconds"]) == (1, 3.5)
    assert (said["resyncs"], said["resync_seconds"]) == (1, 0.4)
