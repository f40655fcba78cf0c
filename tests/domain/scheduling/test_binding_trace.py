from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import at, bound_pod, decision, view
from treenail.domain.cluster.changes import PodBound
from treenail.domain.cluster.promises import Promise
from treenail.domain.model import labels
from treenail.domain.model.nodes import NodeView
from treenail.domain.scheduling.binding_trace import BindingLog, class_name
from treenail.domain.telemetry.tracing import Link, Span

ROOT = decision().context
TRACED = view(of_claim={"annotations": {labels.TRACEPARENT: ROOT.traceparent}})
OTHER = view("c2", of_claim={"annotations": {labels.TRACEPARENT: ROOT.traceparent}})


def bound(
    uid: str, *, to: NodeView = TRACED, owner: str = "web", scheduled: float | None = None, by: str = ""
) -> PodBound:
    """A pod bound to a node, with a promise of the decision `by`, if any."""
    pod = replace(
        bound_pod(uid, to.node_name, owner=owner),
        scheduled_at=None if scheduled is None else at(scheduled),
    )
    promise = Promise(like=pod, target=to.name, decision=by) if by else None
    return PodBound(pod=pod, view=to, promise=promise)


def told(log: BindingLog, *bindings: PodBound, seconds: float = 0) -> list[Span]:
    return [span for one in bindings for span in log.note(one, at(seconds))]


def test_pods_of_one_class_on_one_claim_make_one_span() -> None:
    log = BindingLog()

    assert told(log, bound("p1", scheduled=2), bound("p2", scheduled=1), bound("p3", scheduled=4)) == []
    (span,) = log.close_all()

    assert (span.name, span.parent, span.start, span.end) == ("bind", ROOT, at(1), at(4))
    assert span.attributes == {
        "treenail.nodeclaim.name": "c1",
        "treenail.class.name": "default/web",
        "treenail.class.example": "default/p1",
        "treenail.pods": 3,
    }
    assert span.context == ROOT.child(f"bind/c1/default/web/{at(1).isoformat()}")
    assert log.close_all() == ()


def test_claims_and_classes_have_spans_of_their_own() -> None:
    log = BindingLog()

    told(log, bound("p1"), bound("p2", owner="api"), bound("p3", to=OTHER))

    assert [
        (s.attributes["treenail.nodeclaim.name"], s.attributes["treenail.class.name"])
        for s in log.close_all()
    ] == [
        ("c1", "default/web"),
        ("c1", "default/api"),
        ("c2", "default/web"),
    ]


@pytest.mark.parametrize(("owner", "name"), [("web", "default/web"), ("", "default/p1")])
def test_a_class_is_called_after_its_owner_or_its_only_pod(owner: str, name: str) -> None:
    assert class_name(bound_pod("p1", "n1", owner=owner)) == name


def test_a_pod_that_does_not_say_when_it_was_bound_was_when_it_was_heard_of() -> None:
    log = BindingLog()

    told(log, bound("p1"), seconds=7)

    assert [s.start for s in log.close_all()] == [at(7)]


def test_a_group_is_told_when_it_has_been_quiet_for_a_while() -> None:
    log = BindingLog()
    told(log, bound("p1", scheduled=0), seconds=0)
    told(log, bound("p2", scheduled=5), seconds=5)

    assert told(log, bound("x1", owner="api", scheduled=15), seconds=15) == []
    (span,) = told(log, bound("x2", owner="api", scheduled=30), seconds=30)

    assert span.attributes["treenail.pods"] == 2
    assert [s.attributes["treenail.class.name"] for s in log.close_all()] == ["default/api"]


@pytest.mark.parametrize(("seconds", "told_of"), [(10, []), (10.5, ["default/web"])])
def test_ten_seconds_without_a_pod_are_quiet(seconds: float, told_of: list[str]) -> None:
    log = BindingLog()
    told(log, bound("p1"))

    spans = told(log, bound("x1", owner="api"), seconds=seconds)

    assert [s.attributes["treenail.class.name"] for s in spans] == told_of


def test_a_later_wave_of_a_class_has_a_span_of_its_own() -> None:
    log = BindingLog()
    told(log, bound("p1", scheduled=0), seconds=0)
    first = log.close_all()

    told(log, bound("p2", scheduled=100), seconds=100)
    second = log.close_all()

    assert first[0].context != second[0].context


def test_pods_bound_before_a_restart_are_told_together() -> None:
    log = BindingLog()

    told(log, *(bound(f"p{n}", scheduled=n) for n in range(3)), seconds=3600)

    (span,) = log.close_all()
    assert span.attributes["treenail.pods"] == 3


def test_a_span_names_the_decision_that_kept_its_promise() -> None:
    log = BindingLog()

    told(log, bound("p1", by="d1"))

    (span,) = log.close_all()
    assert span.attributes["treenail.decision.id"] == "d1"
    assert span.links == ()


def test_a_span_links_to_other_decisions_whose_pods_came_along() -> None:
    log = BindingLog()

    told(log, bound("p1", by="d3"), bound("p2", by="d2"), bound("p3", by="d1"), bound("p4", by="d2"))

    (span,) = log.close_all()
    assert span.links == (Link(decision("d2").context), Link(decision("d3").context))
    assert span.attributes["treenail.decision.id"] == "d1"


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(NodeView(node=view().node), id="a node nobody claimed"),
        pytest.param(view(), id="a claim without a trace"),
        pytest.param(view(of_claim={"annotations": {labels.TRACEPARENT: "nonsense"}}), id="with nonsense"),
    ],
)
def test_pods_on_nodes_that_no_decision_made_are_not_traced(there: NodeView) -> None:
    log = BindingLog()

    assert told(log, bound("p1", to=there)) == []
    assert log.close_all() == ()
