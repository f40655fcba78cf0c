from __future__ import annotations

import pytest

from tests.adapters.kubernetes.writing import Rig
from treenail.adapters.kubernetes.errors import OverloadedError, ThrottledError
from treenail.adapters.kubernetes.pod_writes import PodWrites
from treenail.domain.model.errors import TooManyRequestsError, UnavailableError

POD = "/api/v1/namespaces/shop/pods/web-0"


def test_a_binding_names_the_pod_the_uid_and_the_node() -> None:
    rig = Rig({})

    PodWrites(rig.calls).bind("shop", "web-0", "uid-0", "n-0")

    [asked] = rig.server.asked
    assert (asked.method, asked.path) == ("POST", f"{POD}/binding")
    assert asked.body["metadata"] == {"namespace": "shop", "name": "web-0", "uid": "uid-0"}
    assert asked.body["target"] == {"apiVersion": "v1", "kind": "Node", "name": "n-0"}


def test_an_eviction_is_of_one_pod_and_no_namesake() -> None:
    rig = Rig({})

    PodWrites(rig.calls).evict("shop", "web-0", "uid-0")

    [asked] = rig.server.asked
    assert (asked.method, asked.path) == ("POST", f"{POD}/eviction")
    assert asked.body["apiVersion"] == "policy/v1"
    assert asked.body["deleteOptions"] == {"preconditions": {"uid": "uid-0"}}


def test_a_deletion_may_give_no_grace_at_all() -> None:
    rig = Rig({})

    PodWrites(rig.calls).delete("shop", "web-0", "uid-0", 0)

    assert rig.server.asked[0].body["gracePeriodSeconds"] == 0
    assert rig.server.asked[0].body["preconditions"] == {"uid": "uid-0"}


def test_a_budget_is_told_from_a_server_that_is_busy() -> None:
    budget = ThrottledError("a budget", retry_after=10, budget=True)
    busy = ThrottledError("too many requests", retry_after=1)
    own = TooManyRequestsError("no permit within 30 s")
    pods = PodWrites(Rig(budget, busy, own).calls)

    with pytest.raises(TooManyRequestsError, match="a budget"):
        pods.evict("shop", "web-0", "uid-0")
    with pytest.raises(UnavailableError, match="too many requests"):
        pods.evict("shop", "web-0", "uid-0")
    with pytest.raises(UnavailableError, match="no permit"):
        pods.evict("shop", "web-0", "uid-0")


def test_several_budgets_are_a_budget_though_the_server_calls_it_an_error_of_its_own() -> None:
    several = OverloadedError(
        "This pod has more than one PodDisruptionBudget, which is not supported.", retry_after=None
    )
    pods = PodWrites(Rig(several, OverloadedError("etcd is away", retry_after=None)).calls)

    with pytest.raises(TooManyRequestsError):
        pods.evict("shop", "web-0", "uid-0")
    with pytest.raises(UnavailableError):
        pods.evict("shop", "web-0", "uid-0")
