from __future__ import annotations

from dataclasses import replace

from tests.builders import at, claim, decision, pending_pod, planned_claim
from treenail.domain.cluster.batch_window import Decision
from treenail.domain.cluster.planning import PlanCommitted, PlanDecided, Snapshot
from treenail.domain.model.resources import Resources
from treenail.domain.packing.plan import ClassReport, PackingPlan, RefusedClass
from treenail.domain.packing.problem import ExistingNode
from treenail.domain.packing.refusal_reasons import Reason, Refusal
from treenail.domain.packing.remedies import ChangeKind, ManifestChange, Remedy
from treenail.domain.scheduling.decision_trace import decision_spans
from treenail.domain.telemetry.span_trees import grow
from treenail.domain.telemetry.tracing import Attribute, Span

MADE = Decision(id="3f2a", opened_at=at(0), closed_at=at(1), pods=4, urgent="spot_interrupted")
REFUSALS = (Refusal("a", Reason.TOO_LARGE, "too large"), Refusal("b", Reason.LIMIT_REACHED, "limit reached"))
REMEDY = Remedy(
    tuple(
        ManifestChange(
            kind=ChangeKind.LOWER_REQUEST,
            object="Pod",
            path="spec",
            before=None,
            after=None,
            condition=f"it {what}",
        )
        for what in ("slept", "dreamt")
    )
)
REFUSED = RefusedClass(pods=("p4",), refusals=REFUSALS, nearest=REFUSALS[1], remedy=REMEDY)
REPORTS = (
    ClassReport(example="default/web-1", pods=3, to_existing_nodes={"n1": 1}, to_claims={0: 2}),
    ClassReport(
        example="default/job-1", pods=1, refused=1, refusals=REFUSALS, nearest=REFUSALS[1], remedy=REMEDY
    ),
)
PLAN = PackingPlan(
    claims=(planned_claim("p1", "p2"),),
    nominations={"p3": "n1"},
    refused=(REFUSED,),
    classes=REPORTS,
    cost=0.1234567,
    lower_bound=0.0987654321,
    whole_cost=0.1876543219,
    whole_lower_bound=0.1234567891,
)


def decided(plan: PackingPlan = PLAN) -> PlanDecided:
    snapshot = Snapshot(
        revision=7,
        taken_at=at(1.1),
        pods=tuple(pending_pod(f"p{n}") for n in range(1, 5)),
        existing_nodes=(ExistingNode(name="n1", labels={}, taints=(), free=Resources()),),
        pools=(),
        node_classes={},
        daemons=(),
        limits_left={},
    )
    return PlanDecided(
        decision=MADE,
        snapshot=snapshot,
        plan=plan,
        considered=("a", "b"),
        selected_at=at(1.5),
        packed_at=at(2),
    )


def spans(plan: PackingPlan = PLAN) -> dict[str, Span]:
    committed = PlanCommitted(
        decision=MADE,
        claims=(claim("a-3f2a-0"),),
        nominations=((pending_pod("p3"), "n1"),),
        refused=((pending_pod("p4"), REFUSED),),
    )
    return {span.name: span for span in decision_spans(decided(plan), committed, at(2.5))}


def test_a_decision_is_one_tree_from_the_first_pod_to_the_promises() -> None:
    (tree,) = grow(spans().values())

    assert (tree.span.name, tree.span.start, tree.span.end) == ("decide", at(0), at(2.5))
    assert [(t.span.name, t.span.start, t.span.end) for t in tree.children] == [
        ("batch", at(0), at(1)),
        ("select", at(1.1), at(1.5)),
        ("pack", at(1.5), at(2)),
    ]
    assert tree.span.context == MADE.context


def test_packing_says_what_went_wrong_in_it() -> None:
    assert "treenail.problems" not in spans()["pack"].attributes

    told = spans(replace(PLAN, problems=("cheaper nodes were not found: ValueError: no",)))["pack"].attributes

    assert told["treenail.problems"] == ("cheaper nodes were not found: ValueError: no",)


def test_ids_follow_from_the_decision() -> None:
    first, second = spans(), spans()

    assert {n: s.context for n, s in first.items()} == {n: s.context for n, s in second.items()}
    assert decision("other").context.trace_id != MADE.context.trace_id


def test_every_span_names_its_decision() -> None:
    assert {s.attributes["treenail.decision.id"] for s in spans().values()} == {"3f2a"}


def test_the_root_says_what_came_of_it() -> None:
    assert dict(spans()["decide"].attributes) == {
        "treenail.decision.id": "3f2a",
        "treenail.pods": 4,
        "treenail.nodeclaims": ("a-3f2a-0",),
        "treenail.nodeclaims.count": 1,
        "treenail.nominations": 1,
        "treenail.refused": 1,
        "treenail.refused.reasons": ("LimitReached=1",),
    }


def test_a_root_without_refusals_gives_no_reasons() -> None:
    (*_, root) = decision_spans(decided(), PlanCommitted(decision=MADE, claims=()), at(2.5))

    assert "treenail.refused.reasons" not in root.attributes


def test_each_stage_says_what_it_found() -> None:
    found = spans()

    assert found["batch"].attributes["treenail.pods"] == 4
    assert found["batch"].attributes["treenail.urgent"] == "spot_interrupted"
    assert found["select"].attributes["treenail.revision"] == 7
    assert found["select"].attributes["treenail.nodepools"] == ("a", "b")
    packed = found["pack"].attributes
    assert {
        k: packed[f"treenail.{k}"] for k in ("pods", "existing_nodes", "classes", "nodeclaims", "refused")
    } == {
        "pods": 4,
        "existing_nodes": 1,
        "classes": 2,
        "nodeclaims": 1,
        "refused": 1,
    }
    assert packed["treenail.cost_usd_hour"] == 0.123457
    assert packed["treenail.lower_bound_usd_hour"] == 0.098765
    assert packed["treenail.whole_cost_usd_hour"] == 0.187654
    assert packed["treenail.whole_lower_bound_usd_hour"] == 0.123457
    assert packed["treenail.exhausted"] is False


def test_packing_has_an_event_for_each_class_of_pods() -> None:
    events = spans()["pack"].events

    placed: dict[str, Attribute] = {
        "treenail.class.example": "default/web-1",
        "treenail.class.pods": 3,
        "treenail.class.existing_nodes": ("n1=1",),
        "treenail.class.existing_nodes.count": 1,
        "treenail.class.claims": ("0=2",),
        "treenail.class.claims.count": 1,
    }
    refused: dict[str, Attribute] = {
        "treenail.class.example": "default/job-1",
        "treenail.class.pods": 1,
        "treenail.class.refused": 1,
        "treenail.class.reasons": ("a=TooLarge", "b=LimitReached"),
        "treenail.class.reasons.count": 2,
        "treenail.class.why": "TooLarge: a: too large; LimitReached: b: limit reached",
        "treenail.class.nearest": "b: limit reached",
        "treenail.class.remedy": "it would fit if it slept and it dreamt",
    }
    assert [dict(e.attributes) for e in events] == [placed, refused]
    assert {e.at for e in events} == {at(2)}
    assert [s.events for n, s in spans().items() if n != "pack"] == [(), (), ()]


def test_a_plan_cut_short_says_so() -> None:
    cut = spans(replace(PLAN, exhausted=True))

    assert cut["pack"].attributes["treenail.exhausted"] is True


def test_a_move_says_what_goes_who_takes_its_pods_what_it_costs_before_and_after_and_when_it_pays() -> None:
    plan = PackingPlan(claims=(planned_claim("p1"),), nominations={"p2": "n1", "p3": "n1"}, whole_cost=0.12)
    move = replace(decided(plan), removed=("c1", "c2"), saves=0.08, costs=0.02)
    (*_, root) = decision_spans(move, PlanCommitted(decision=MADE, claims=(claim("a-0"),)), at(2.5))

    assert root.name == "consolidate"
    assert root.attributes["treenail.removed"] == ("c1", "c2")
    assert root.attributes["treenail.receivers"] == ("n1",)
    assert root.attributes["treenail.replacements"] == ("default/m5.xlarge $0.100000/h",)
    assert root.attributes["treenail.cost_before_usd_hour"] == 0.2
    assert root.attributes["treenail.cost_after_usd_hour"] == 0.12
    assert root.attributes["treenail.move_cost_usd"] == 0.02
    assert root.attributes["treenail.payback_hours"] == 0.25


def size_of(span: Span) -> int:
    """Return about how many bytes the attributes of a span are."""
    return sum(len(name) + len(str(value)) for name, value in span.attributes.items())


def test_a_decision_on_5000_claims_is_below_16_kilobytes_and_its_counts_are_exact() -> None:
    names = tuple(f"a-pool-of-some-length-and-more-{n:05}-0123456789" for n in range(5000))
    plan = PackingPlan(
        claims=tuple(planned_claim(f"p{n}") for n in range(5000)),
        nominations={f"q{n}": names[n] for n in range(5000)},
    )
    move = replace(decided(plan), removed=names, saves=1.0)
    committed = PlanCommitted(decision=MADE, claims=tuple(claim(name) for name in names))

    (*_, root) = decision_spans(move, committed, at(2.5))

    assert size_of(root) < 16_000
    for listed in ("nodeclaims", "removed", "receivers", "replacements"):
        shown = root.attributes[f"treenail.{listed}"]
        assert isinstance(shown, tuple)
        assert root.attributes[f"treenail.{listed}.count"] == 5000
        assert root.attributes[f"treenail.{listed}.left_out"] == 5000 - len(shown)
        assert 0 < len(shown) <= 100


def test_a_plan_that_was_not_made_is_said_to_have_failed_and_why() -> None:
    failed = replace(decided(PackingPlan()), failure="the solver was lost")

    (_, _, pack, _) = decision_spans(failed, PlanCommitted(decision=MADE, claims=()), at(3))

    assert (pack.error, pack.attributes["error.type"]) == ("the solver was lost", "not_packed")


def test_pools_that_may_not_buy_are_named_with_their_reasons() -> None:
    waits = replace(decided(), not_ready=(Refusal("b", Reason.POOL_NOT_READY, "EC2 does not answer"),))

    (_, select, *_) = decision_spans(waits, PlanCommitted(decision=MADE, claims=()), at(3))

    assert select.attributes["treenail.nodepools.not_ready"] == ("b: EC2 does not answer",)
