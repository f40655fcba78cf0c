"""Pods to come within the quotas of their namespace: how many are expected, and which places end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import START, at, bound_pod, pending_pod
from tests.domain.cluster.test_unread_objects import aside
from tests.domain.models import lose, model, see
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import Kind, Resynced
from treenail.domain.cluster.namespace_quotas import NamespaceQuotas
from treenail.domain.cluster.promises import Promise, PromiseBook
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.capacity_buffers import CapacityBuffer
from treenail.domain.model.pod_parts import PodParts
from treenail.domain.model.pods import Owner, Phase, Pod
from treenail.domain.model.resource_quotas import ResourceQuota, Scope, ScopeOperator, ScopeTerm
from treenail.domain.model.resources import Resources

WEB = Workload(uid="web", kind="ReplicaSet", name="web", resource_version=1, wanted=100)
API = Workload(uid="api", kind="ReplicaSet", name="api", resource_version=1, wanted=100)
W1, A1 = pending_pod("w1"), pending_pod("x1", owner="api")
OF_HIGH = ScopeTerm(Scope.PRIORITY_CLASS, ScopeOperator.IN, ("high",))


def quota(
    name: str = "small", *, version: int = 1, used: Any = (), scopes: Any = (), **hard: int
) -> ResourceQuota:
    """Return a quota; `requests_cpu` is its entry "requests.cpu", `count_pods` is "count/pods"."""
    names = {"count_pods": "count/pods"}
    limited = Resources((names.get(n, n.replace("_", ".")), most) for n, most in hard.items())
    return ResourceQuota(
        name=name, resource_version=version, hard=limited, used=Resources(used), scopes=tuple(scopes)
    )


def expected(known: ClusterModel) -> Counter[str]:
    """Return how many pods to come a decision on all that wait takes in, by workload."""
    pods = known.snapshot(START).pods
    made = known.expected.beside(pods, (), (), START)
    return Counter(pod.owner.uid for pod in made if pod.owner is not None)


def promise_all(known: ClusterModel, target: str = "c1") -> list[str]:
    """Promise places to all pods to come that are expected, and return their uids."""
    made = known.expected.beside(known.snapshot(START).pods, (), (), START)
    for pod in made:
        assert pod.owner is not None
        known.keep(Promise(like=pod, target=target, decision="d", heir=pod.owner.uid, expected=True))
    return [pod.uid for pod in made]


def places(known: ClusterModel) -> dict[str, int]:
    return {owner: known.promises.to_come(owner) for owner in ("web", "api") if known.promises.to_come(owner)}


@pytest.mark.parametrize(
    ("quotas", "number"),
    [
        ((quota(pods=10),), 9),
        ((quota(count_pods=3),), 2),
        ((quota(cpu=4_500),), 3),
        ((quota(requests_cpu=4_000),), 3),
        ((quota(pods=1),), 0),
        ((quota(pods=0),), 0),
        ((quota(pods=1_000),), 99),
        ((quota(pods=50), quota("tight", requests_cpu=8_000)), 7),
        # Of these, pods without limits or claims on storage take nothing.
        ((quota(limits_cpu=1, persistentvolumeclaims=0),), 99),
        ((replace(quota(pods=1), namespace="shop"),), 99),
        ((), 99),
    ],
)
def test_no_more_pods_are_expected_than_quotas_let_be_made(
    quotas: tuple[ResourceQuota, ...], number: int
) -> None:
    assert expected(model(WEB, W1, *quotas))["web"] == number


@pytest.mark.parametrize(
    ("scope", "pod", "number"),
    [
        (ScopeTerm(Scope.BEST_EFFORT), {}, 99),
        (ScopeTerm(Scope.NOT_BEST_EFFORT), {}, 4),
        (ScopeTerm(Scope.TERMINATING), {}, 99),
        (ScopeTerm(Scope.TERMINATING), {"parts": PodParts(bounded=True)}, 4),
        (OF_HIGH, {"priority_class": "high"}, 4),
        (OF_HIGH, {"priority_class": "low"}, 99),
    ],
)
def test_a_quota_with_scopes_limits_the_pods_within_them(
    scope: ScopeTerm, pod: dict[str, Any], number: int
) -> None:
    first = replace(W1, spec=replace(W1.spec, **pod))

    assert expected(model(WEB, first, quota(pods=5, scopes=(scope,))))["web"] == number


def test_workloads_that_share_a_quota_get_its_room_in_the_order_in_which_their_pods_wait() -> None:
    known = model(replace(WEB, wanted=6), API, W1, A1, quota(pods=10))

    assert expected(known) == {"web": 5, "api": 3}
    assert [str(one) for one in known.expected.held_back] == ["default/small: default/ReplicaSet/api 96"]


def test_the_pod_that_waits_says_how_many_are_planned_with_it_within_the_quota() -> None:
    assert model(WEB, W1, quota(pods=10)).expected.wished_with(W1, START) == 10


def test_pods_that_the_status_of_a_quota_counts_and_nobody_knows_yet_take_its_room() -> None:
    assert expected(model(WEB, W1, quota(pods=10, used={"pods": 6})))["web"] == 4


def test_known_pods_take_room_that_the_status_of_a_quota_does_not_count_yet() -> None:
    others = [bound_pod(f"o{number}", "n", owner="other") for number in range(5)]

    assert expected(model(WEB, *others, W1, quota(pods=10, used={"pods": 2})))["web"] == 4


def test_a_pod_that_ended_takes_none_of_the_pods_and_one_of_the_objects() -> None:
    ended = replace(bound_pod("o", "n", owner="other"), phase=Phase.SUCCEEDED)

    assert expected(model(WEB, W1, ended, quota(pods=10)))["web"] == 9
    assert expected(model(WEB, W1, ended, quota(count_pods=10)))["web"] == 8


def test_pods_to_come_with_places_take_the_room_of_a_quota_for_every_workload() -> None:
    known = model(WEB, W1, quota(pods=10))
    promise_all(known)
    see(known, API, A1)

    assert places(known) == {"web": 8}
    assert expected(known) == {}
    assert known.expected.unpromised("web") == 0


def test_more_are_expected_when_a_quota_is_raised() -> None:
    known = model(WEB, W1, quota(pods=10))
    promise_all(known)

    see(known, quota(pods=15, version=2))

    assert expected(known) == {"web": 5}


def test_more_are_expected_when_the_quota_is_gone() -> None:
    known = model(WEB, W1, quota(pods=10))

    lose(known, Kind.RESOURCE_QUOTA, "default/small")

    assert expected(known) == {"web": 99}


def test_places_beyond_a_quota_that_is_lowered_are_given_back() -> None:
    known = model(WEB, W1, quota(pods=10))
    first = promise_all(known)

    see(known, quota(pods=4, version=2))

    assert [promise.pod for promise in known.promises.expected("web")] == first[:3]


def test_of_workloads_that_share_a_quota_the_latest_gives_places_back() -> None:
    known = model(replace(WEB, wanted=6), replace(API, wanted=6), W1, A1, quota(pods=12))
    promise_all(known)
    assert places(known) == {"web": 5, "api": 5}

    see(known, quota(pods=10, version=2))

    assert places(known) == {"web": 5, "api": 3}


def test_a_new_quota_gives_places_back_though_its_status_counts_nothing_yet() -> None:
    known = model(WEB, W1)
    promise_all(known)

    see(known, quota(requests_cpu=8_000))

    assert places(known) == {"web": 7}


def test_places_are_given_back_when_other_pods_use_the_quota() -> None:
    known = model(WEB, W1, quota(pods=10))
    promise_all(known)

    see(known, *(bound_pod(f"o{number}", "n", owner="") for number in range(4)))

    assert places(known) == {"web": 5}


def test_pods_that_come_take_their_places_over_and_no_others_are_given_back() -> None:
    known = model(WEB, W1, quota(pods=10))
    promise_all(known)

    for number in range(2, 11):
        see(known, quota(pods=10, version=number, used={"pods": number}))
        assert places(known) == {"web": 11 - number}
        see(known, pending_pod(f"w{number}"))

    assert places(known) == {}
    assert len(known.promises) == 9


def test_places_are_kept_while_pods_that_are_deleted_still_count() -> None:
    running = [bound_pod(f"r{number}", "n", owner="other") for number in range(5)]
    known = model(replace(WEB, wanted=6), W1, *running, quota(pods=11))
    promise_all(known)

    going = [replace(pod, resource_version=2, deleting_since=at(1)) for pod in running]
    see(known, *going, *(bound_pod(f"s{number}", "m", owner="other") for number in range(5)))

    assert places(known) == {"web": 5}


def test_places_that_buffers_keep_take_nothing_of_a_quota() -> None:
    buffer = CapacityBuffer(name="spare")
    known = model(WEB, W1, quota(pods=10))
    spare = replace(pending_pod("spare"), uid="expected/spare/1", owners=(Owner("x", "spare", buffer.owner),))

    known.keep(Promise(like=spare, target="c1", decision="d", heir=buffer.owner, expected=True))

    assert expected(known) == {"web": 9}


def test_nothing_is_expected_where_a_quota_is_not_understood() -> None:
    known = model(WEB, W1)
    promise_all(known)
    see(known, replace(WEB, wanted=200, resource_version=2))

    known.learn(aside(Kind.RESOURCE_QUOTA, "default/odd"), START)
    assert expected(known) == {}
    assert [one.quota for one in known.expected.held_back] == ["default/odd"]
    assert places(known) == {"web": 99}, "nobody knows that they are too many"

    known.learn(aside(Kind.RESOURCE_QUOTA, "shop/odd"), START)
    see(known, replace(quota("odd"), resource_version=10))
    assert expected(known) == {"web": 100}


def test_places_stay_where_a_quota_is_not_understood_that_was_before() -> None:
    known = model(WEB, W1, quota(pods=10))
    promise_all(known)

    known.learn(aside(Kind.RESOURCE_QUOTA, "default/small"), START)
    see(known, *(bound_pod(f"o{number}", "n", owner="") for number in range(4)))
    assert places(known) == {"web": 9}, "nobody knows whether it was raised"

    see(known, quota(pods=10, version=10))
    assert places(known) == {"web": 5}


def test_quotas_that_may_not_be_read_any_more_still_count_as_they_were() -> None:
    known = model(WEB, W1, quota(pods=10))

    known.learn(Resynced(revision=9, objects=(W1, WEB), unreadable=frozenset({Kind.RESOURCE_QUOTA})), START)
    assert expected(known) == {"web": 9}

    known.learn(Resynced(revision=9, objects=(W1, WEB)), START)
    assert expected(known) == {"web": 99}


def test_the_status_of_a_quota_is_no_news_to_consolidation() -> None:
    known = model(WEB, W1, quota(pods=10))
    before = known.version

    see(known, quota(pods=10, version=2, used={"pods": 1}))

    assert known.version == before


HARD = st.fixed_dictionaries({}, optional={"pods": st.integers(0, 8), "requests_cpu": st.integers(0, 9_000)})
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(("pod", "ends", "deleted", "gone", "quota", "no quota", "promise", "no promise")),
        st.integers(0, 5),
        HARD,
    ),
    max_size=40,
)


@given(events=EVENTS)
def test_what_is_charged_by_each_change_is_what_a_new_count_gives(
    events: list[tuple[str, int, dict[str, int]]],
) -> None:
    known = model(quota(pods=9, requests_cpu=9_000))
    for version, (what, number, hard) in enumerate(events, start=2):
        known.quotas.room(W1)
        _happen(known, what, number, hard, version)
        again = NamespaceQuotas(known.objects, _copy(known.promises))
        for one in known.objects.quotas.values():
            again.put(one)
        for like in (W1, pending_pod("large", cpu=3)):
            assert known.quotas.room(like) == again.room(like)
            assert known.quotas.beyond(like) == again.beyond(like)


def _copy(promises: PromiseBook) -> PromiseBook:
    copy = PromiseBook()
    for promise in promises.all():
        copy.make(promise)
    return copy


def _happen(known: ClusterModel, what: str, number: int, hard: dict[str, int], version: int) -> None:
    uid = f"p{number}"
    pod: Pod = known.objects.pods.get(uid) or pending_pod(uid, cpu=1 + number % 2, owner="")
    newer = replace(pod, resource_version=version)
    match what:
        case "pod":
            see(known, newer)
        case "ends":
            see(known, replace(newer, phase=Phase.FAILED))
        case "deleted":
            see(known, replace(newer, deleting_since=at(1)))
        case "gone":
            lose(known, Kind.POD, uid)
        case "quota":
            see(known, quota(f"q{number % 2}", version=version, used={"pods": number}, **hard))
        case "no quota":
            lose(known, Kind.RESOURCE_QUOTA, f"default/q{number % 2}")
        case "promise" if known.promises.of(f"expected/{number}") is None:
            made = replace(pending_pod(f"expected/{number}", cpu=1 + number % 2), resource_version=0)
            known.promises.make(Promise(like=made, target="c", decision="d", heir="web", expected=True))
        case _:
            known.promises.end(f"expected/{number}")
