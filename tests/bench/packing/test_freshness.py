from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.bench.packing import ours
from tests.bench.packing.freshness import Pods, Pristine, forget, remembered
from treenail.domain.model import labels
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.resources import Resources, _amount
from treenail.domain.packing import problem
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import Problem

SPEC = PodSpec(requests=Resources.parse({"cpu": "1", "pods": 1}), node_selector=((labels.ARCH, "amd64"),))
PROBLEM = Problem(
    pods=tuple(
        Pod(uid=f"u{n}", name=f"p{n}", created_at=datetime(2026, 1, 1, tzinfo=UTC), spec=SPEC)
        for n in range(3)
    )
)


def test_fresh_problems_are_equal_and_no_object_of_theirs_is_the_same() -> None:
    pristine = Pristine(PROBLEM, Pods.DECODED)

    one, other = pristine.fresh(), pristine.fresh()

    assert one == other == PROBLEM
    assert {id(pod) for pod in one.pods}.isdisjoint(id(pod) for pod in other.pods)
    assert one.pods[0].spec is not other.pods[0].spec


def test_decoded_pods_share_a_spec_and_bare_ones_not_even_its_text() -> None:
    decoded, bare = (Pristine(PROBLEM, pods).fresh().pods for pods in (Pods.DECODED, Pods.BARE))

    assert len({id(pod.spec) for pod in decoded}) == 1
    assert len({id(pod.spec) for pod in bare}) == 3
    assert len({id(pod.spec.requests) for pod in bare}) == 3
    assert len({id(pod.spec.node_selector[0][0]) for pod in bare}) == 3


@pytest.mark.parametrize("pods", list(Pods))
def test_fresh_pods_remember_no_hash_even_of_a_problem_that_did(pods: Pods) -> None:
    hash(SPEC)

    fresh = Pristine(PROBLEM, pods).fresh()

    assert [pod.spec.requests._hash for pod in fresh.pods] == [None] * 3


def test_what_is_cached_in_the_domain_is_forgotten() -> None:
    Resources.parse({"memory": "777Mi"})
    before = _amount.cache_info().currsize

    forget(PROBLEM)

    assert before > 0
    assert _amount.cache_info().currsize == 0


def test_packing_keeps_nothing_in_modules_or_classes() -> None:
    before = remembered()

    pack(PROBLEM)

    assert before
    assert remembered() == before


def test_a_side_that_keeps_something_for_the_next_decision_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: dict[str, int] = {}
    monkeypatch.setattr(problem, "_KEPT", kept, raising=False)
    before = remembered()
    kept["p0"] = 1

    with pytest.raises(ours.KeptError, match=r"problem\._KEPT"):
        ours._check(before)
