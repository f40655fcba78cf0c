"""A provisioning decision as spans: `decide` with `batch`, `select` and `pack`."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Final

from treenail.domain.cluster.expected_pods import is_expected
from treenail.domain.cluster.planning import PlanCommitted, PlanDecided
from treenail.domain.packing.plan import ClassReport, PlannedClaim
from treenail.domain.packing.refusal_reasons import Reason, sentence
from treenail.domain.telemetry.bounded_values import bounded_list, bounded_text
from treenail.domain.telemetry.delays import delay_events
from treenail.domain.telemetry.span_attributes import DECISION_ID, ERROR_TYPE
from treenail.domain.telemetry.tracing import Attribute, Span, SpanEvent, SpanKind

_MOST_OF_A_CLASS: Final = 20


def decision_spans(
    decided: PlanDecided, committed: PlanCommitted, at: datetime, events: tuple[SpanEvent, ...] = ()
) -> tuple[Span, ...]:
    """Return the spans of a decision that was committed `at`, the root last, with the `events` of that one.

    Lists in attributes are cut, and their numbers are told whole.
    """
    decision, snapshot = decided.decision, decided.snapshot
    root = decision.context
    known: dict[str, Attribute] = {DECISION_ID: decision.id}
    batch: dict[str, Attribute] = {"treenail.pods": decision.pods, "treenail.urgent": decision.urgent}
    select: dict[str, Attribute] = {
        "treenail.revision": snapshot.revision,
        **bounded_list("treenail.nodepools", decided.considered),
        **_not_ready(decided),
    }
    phases = tuple(
        Span(
            context=root.child(name),
            parent=root,
            name=name,
            start=start,
            end=end,
            attributes={**known, **more},
            events=told,
            error=error,
        )
        for name, start, end, more, told, error in (
            ("batch", decision.opened_at, decision.closed_at, batch, (), ""),
            ("select", snapshot.taken_at, decided.selected_at, select, delay_events(decided.delays), ""),
            (
                "pack",
                decided.selected_at,
                decided.packed_at,
                _packed(decided),
                _class_events(decided),
                bounded_text(decided.failure),
            ),
        )
    )
    decide = Span(
        context=root,
        name="consolidate" if decided.removed else "decide",
        kind=SpanKind.INTERNAL,
        start=decision.opened_at,
        end=at,
        attributes={
            **known,
            "treenail.pods": len(snapshot.pods),
            **({"treenail.expected": number} if (number := expected_in(decided)) else {}),
            **_held_back(decided),
            **bounded_list("treenail.nodeclaims", tuple(c.name for c in committed.claims)),
            "treenail.nominations": len(committed.nominations),
            "treenail.refused": len(committed.refused),
            **_reasons(committed),
            **_moved(decided),
        },
        events=events,
    )
    return (*phases, decide)


def expected_in(decided: PlanDecided) -> int:
    """Return how many of the pods that a decision was on were still to be made."""
    return sum(is_expected(pod) for pod in decided.snapshot.pods)


def _packed(decided: PlanDecided) -> dict[str, Attribute]:
    plan, snapshot = decided.plan, decided.snapshot
    return {
        "treenail.pods": len(snapshot.pods),
        "treenail.existing_nodes": sum(existing_node.open for existing_node in snapshot.existing_nodes),
        "treenail.classes": len(plan.classes),
        "treenail.nodeclaims": len(plan.claims),
        "treenail.refused": sum(len(r.pods) for r in plan.refused),
        "treenail.cost_usd_hour": round(plan.cost, 6),
        "treenail.lower_bound_usd_hour": round(plan.lower_bound, 6),
        "treenail.whole_cost_usd_hour": round(plan.whole_cost, 6),
        "treenail.whole_lower_bound_usd_hour": round(plan.whole_lower_bound, 6),
        "treenail.exhausted": plan.exhausted,
        **_moved(decided),
        **(bounded_list("treenail.problems", plan.problems) if plan.problems else {}),
        **({ERROR_TYPE: "not_packed"} if decided.failure else {}),
    }


def _held_back(decided: PlanDecided) -> dict[str, Attribute]:
    """Return which quotas hold pods back, of which workload and how many, where there are such."""
    told = tuple(map(str, decided.snapshot.held_back))
    return bounded_list("treenail.held_back", told) if told else {}


def _not_ready(decided: PlanDecided) -> dict[str, Attribute]:
    """Return which pools may not buy, and why, where there are such."""
    told = tuple(f"{one.pool}: {one.detail}" for one in decided.not_ready)
    return bounded_list("treenail.nodepools.not_ready", told) if told else {}


def _moved(decided: PlanDecided) -> dict[str, Attribute]:
    """Return attributes of a consolidation move: nodes that go, receivers, replacements, cost and saving.

    `cost_before` and `cost_after` are those of the nodes that go and of those bought in their place. The
    payback time is included where the move saves anything.
    """
    if not decided.removed:
        return {}
    after = decided.plan.whole_cost
    pays = {"treenail.payback_hours": round(decided.costs / decided.saves, 4)} if decided.saves > 0 else {}
    return {
        **bounded_list("treenail.removed", decided.removed),
        **bounded_list("treenail.receivers", sorted(set(decided.plan.nominations.values()))),
        **bounded_list("treenail.replacements", tuple(_bought(claim) for claim in decided.plan.claims)),
        "treenail.move_cost_usd": round(decided.costs, 6),
        **pays,
        "treenail.cost_before_usd_hour": round(after + decided.saves, 6),
        "treenail.cost_after_usd_hour": round(after, 6),
        "treenail.saves_usd_hour": round(decided.saves, 6),
        **({"treenail.back_to": decided.back_to} if decided.back_to else {}),
    }


def _bought(claim: PlannedClaim) -> str:
    """Return what a claim is planned to become, the cheapest of it: "default/c5.large $0.085000/h"."""
    return f"{claim.pool}/{claim.instance_types[0]} ${claim.price:.6f}/h"


def _reasons(committed: PlanCommitted) -> dict[str, Attribute]:
    """Return how many pods were refused for which reason: that of the pool or node that came nearest."""
    counts = Counter(group.nearest.reason for _, group in committed.refused if group.nearest is not None)
    said = tuple(f"{reason.value}={counts[reason]}" for reason in Reason if counts[reason])
    return {"treenail.refused.reasons": said} if said else {}


def _class_events(decided: PlanDecided) -> tuple[SpanEvent, ...]:
    return tuple(
        SpanEvent(name="class", at=decided.packed_at, attributes=_class_attributes(report))
        for report in decided.plan.classes
    )


def _class_attributes(report: ClassReport) -> dict[str, Attribute]:
    attributes: dict[str, Attribute] = {
        "treenail.class.example": report.example,
        "treenail.class.pods": report.pods,
    }
    if report.to_existing_nodes:
        nodes = tuple(f"{n}={count}" for n, count in report.to_existing_nodes.items())
        attributes |= bounded_list("treenail.class.existing_nodes", nodes, _MOST_OF_A_CLASS)
    if report.to_claims:
        claims = tuple(f"{i}={count}" for i, count in report.to_claims.items())
        attributes |= bounded_list("treenail.class.claims", claims, _MOST_OF_A_CLASS)
    if report.refused:
        attributes["treenail.class.refused"] = report.refused
        reasons = tuple(f"{r.pool}={r.reason.value}" for r in report.refusals)
        attributes |= bounded_list("treenail.class.reasons", reasons, _MOST_OF_A_CLASS)
        attributes["treenail.class.why"] = bounded_text(sentence(report.refusals))
        if report.nearest is not None:
            attributes["treenail.class.nearest"] = str(report.nearest)
        if report.remedy is not None:
            attributes["treenail.class.remedy"] = str(report.remedy)
    return attributes
