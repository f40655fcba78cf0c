from __future__ import annotations

from tests.builders import bound_pod
from treenail.domain.disruption.disruption import DisruptionAllowed, DisruptionProposed
from treenail.domain.disruption.disruption_candidates import DisruptionCandidate, DisruptionCandidates
from treenail.domain.disruption.retry_plan import RetryPlan, retry_plan_for
from treenail.domain.model.causes import Cause
from treenail.domain.packing.plan import PackingPlan, RefusedClass
from treenail.domain.packing.refusal_reasons import Reason, Refusal

FULL = "LimitReached: default: no room"


def candidate(name: str, tried: int = 0) -> DisruptionCandidate:
    proposal = DisruptionProposed(pool="default", candidates=(name,), cause=Cause.DRIFTED)
    allowed = DisruptionAllowed(proposal=proposal, candidates=(name,), budgets=("default",))
    return DisruptionCandidate(allowed=allowed, names=(name,), tried=tried)


def retry_plan(*lacking: DisruptionCandidate, refused: tuple[str, ...], beside: int) -> RetryPlan:
    """Each has one pod on it, pod-NAME; those `refused` have no place, of the others it was not decided."""
    group = RefusedClass(pods=refused, refusals=(Refusal("default", Reason.LIMIT_REACHED, "no room"),))
    pods = [(one, (bound_pod(f"pod-{one.names[0]}", f"node-{one.names[0]}"),)) for one in lacking]
    return retry_plan_for(pods, PackingPlan(refused=(group,)), beside=beside)


def names(those: tuple[DisruptionCandidate, ...]) -> list[str]:
    return [name for one in those for name in one.names]


def test_one_alone_without_a_place_is_blocked() -> None:
    found = retry_plan(candidate("c1"), refused=("pod-c1",), beside=1)

    ((one, why),) = found.blocked
    assert one.names == ("c1",)
    assert why.sentence == f"not all pods would schedule, default/pod-c1 => {FULL}"
    assert (found.again, found.later) == ((), ())


def test_of_several_half_are_tried_again_and_the_others_later() -> None:
    those = [candidate(f"c{n}") for n in range(5)]

    found = retry_plan(*those, refused=tuple(f"pod-c{n}" for n in range(5)), beside=9)

    assert names(found.again) == ["c0", "c1", "c2"]
    assert [one.tried for one in found.again] == [1, 1, 1]
    assert names(tuple(one for one, _ in found.later)) == ["c3", "c4"]
    assert found.blocked == ()


def test_one_that_lacks_a_place_beside_others_is_tried_alone() -> None:
    found = retry_plan(candidate("c1"), refused=("pod-c1",), beside=2)

    assert names(found.again) == ["c1"]


def test_what_was_tried_often_enough_is_blocked() -> None:
    found = retry_plan(candidate("c1", tried=10), refused=("pod-c1",), beside=2)

    assert [one.names for one, _ in found.blocked] == [("c1",)]


def test_what_was_not_decided_is_proposed_again_soon() -> None:
    found = retry_plan(candidate("c1"), refused=(), beside=1)

    ((one, why),) = found.later
    assert one.names == ("c1",)
    assert why.sentence.startswith("it was not decided where all pods of the node would go")


# --- which wait, and which are planned


def test_those_of_a_decision_that_gave_way_are_planned_with_the_next() -> None:
    book = DisruptionCandidates()
    book.wait([candidate("c1")])
    assert book.plan("d1") == ("c1",)
    book.wait([candidate("c2")])

    assert book.plan("d2") == ("c1", "c2")
    assert book.names == {"c1", "c2"}
    assert book.end("d1") == ()
    assert names(book.end("d2")) == ["c1", "c2"]
    assert book.names == frozenset()


def test_those_that_come_while_a_decision_is_made_are_not_judged_by_it() -> None:
    book = DisruptionCandidates()
    book.wait([candidate("c1")])
    book.plan("d1")
    book.wait([candidate("c2")])

    assert names(book.end("d1")) == ["c1"]
    assert book.names == {"c2"}
