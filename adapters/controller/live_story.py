"""The story of the running cluster, as the live page tells it: the last hour, up to now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from treenail.adapters.report.story import Bar, Curve, Fact, Finding, NodeRow, Sheet, Stage, StageName, Story
from treenail.domain.cluster.shown_state import ShownNode, StateShown
from treenail.domain.explain.node_progress import Progress, progress_of, waits_for
from treenail.domain.model import labels
from treenail.domain.model.claim_conditions import MILESTONES
from treenail.domain.model.claim_prices import price_of
from treenail.domain.model.counted import counted
from treenail.domain.model.nodes import condition_of
from treenail.domain.model.resources import total
from treenail.domain.telemetry.span_attributes import CAUSE, CLAIM, DECISION_ID, POOL
from treenail.domain.telemetry.tracing import Span

SHOWN_SECONDS: Final = 3600.0
_HOURS_A_MONTH: Final = 730
_MOST_NODES: Final = 1000
_MOST_WAITING: Final = 50
_MOST_DECISIONS: Final = 30


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of the cluster: pods that run and that wait, and the cost of all nodes, $/h."""

    at: datetime
    running: int
    waiting: int
    rate: float


def sample_of(state: StateShown) -> Sample:
    """Return the sums of a state."""
    return Sample(
        at=state.now,
        running=sum(len(node.pods) for node in state.nodes),
        waiting=len(state.waiting),
        rate=sum(price(node) or 0.0 for node in state.nodes),
    )


def live_story(
    state: StateShown, samples: Sequence[Sample], recent: Iterable[Span], title: str, subtitle: str
) -> Story:
    """Return the page's story of a state. `recent` are the roots of decisions and the ends of nodes."""
    start = state.now - timedelta(seconds=SHOWN_SECONDS)
    shown = [s for s in (*samples, sample_of(state)) if s.at >= start]
    at = [max((s.at - start).total_seconds(), 0.0) for s in shown]
    spans = tuple(recent)
    return Story(
        title=title,
        subtitle=subtitle,
        seconds=SHOWN_SECONDS,
        begins=start,
        facts=tuple(_facts(state)),
        findings=tuple((heading, found) for heading, found in _findings(state, start) if found),
        curves=(
            (
                "Pods",
                (
                    Curve(
                        "on nodes", tuple((t, s.running) for t, s in zip(at, shown, strict=True)), filled=True
                    ),
                    Curve("waiting", tuple((t, s.waiting) for t, s in zip(at, shown, strict=True))),
                ),
            ),
            (
                "Dollars per hour",
                (
                    Curve(
                        "nodes, $ per hour",
                        tuple((t, round(s.rate, 4)) for t, s in zip(at, shown, strict=True)),
                        unit="$",
                        filled=True,
                    ),
                ),
            ),
        ),
        money=_money(state),
        nodes=tuple(_rows(state, spans, start)),
        sheets=tuple(sheet for sheet in (_decisions(spans),) if sheet.rows),
        cut=(f"The first {_MOST_NODES:,} nodes are shown.",) if len(state.nodes) > _MOST_NODES else (),
    )


def price(node: ShownNode) -> float | None:
    """Return what a node costs in $/h, as it was bought; None if that is not known."""
    return price_of(node.view.claim) if node.view.claim is not None else None


def _facts(state: StateShown) -> Iterator[Fact]:
    rate = sum(price(node) or 0.0 for node in state.nodes)
    unpriced = sum(price(node) is None for node in state.nodes)
    yield Fact("now", f"${rate:,.3f}/h", f"${rate * _HOURS_A_MONTH:,.0f} a month")
    yield Fact("nodes", f"{len(state.nodes):,}", f"{unpriced:,} without a price" if unpriced else "")
    pods = sum(len(node.pods) for node in state.nodes)
    yield Fact("pods on nodes", f"{pods:,}")
    yield Fact("pods waiting", f"{len(state.waiting):,}")
    used = total(pod.spec.requests for node in state.nodes for pod in node.pods if pod.bound)
    room = total(node.view.allocatable for node in state.nodes)
    for name in ("cpu", "memory"):
        if room.get(name):
            yield Fact(f"{name} asked for", f"{used.get(name, 0) / room[name]:.0%}", "of what nodes have")


def _findings(state: StateShown, start: datetime) -> Iterator[tuple[str, tuple[Finding, ...]]]:
    waiting = tuple(
        Finding(
            one.pod.key,
            f"has a place on {one.promised}"
            if one.promised
            else "has no place yet: kubectl describe says why",
            (one.pod.created_at - start).total_seconds() if one.pod.created_at >= start else None,
        )
        for one in state.waiting[:_MOST_WAITING]
    )
    more = f", the first {_MOST_WAITING}" if len(state.waiting) > _MOST_WAITING else ""
    yield f"{counted(len(state.waiting), 'pod waits', 'pods wait')}{more}", waiting
    held = tuple(
        Finding(node.view.node_name or node.view.name, f"{progress_of(node.view).value}: {why}")
        for node in state.nodes
        if (why := waits_for(node.view))
    )
    yield f"{counted(len(held), 'node waits', 'nodes wait')} for something", held[:_MOST_WAITING]


def _money(state: StateShown) -> tuple[Bar, ...]:
    pools: dict[str, float] = {}
    for node in state.nodes:
        pool = node.view.pool or "(no pool)"
        pools[pool] = pools.get(pool, 0.0) + (price(node) or 0.0)
    dearest = sorted(pools.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Bar(pool, rate, f"${rate:,.3f}/h") for pool, rate in dearest)


def _rows(state: StateShown, spans: Sequence[Span], start: datetime) -> Iterator[NodeRow]:
    for node in state.nodes[:_MOST_NODES]:
        view, own = node.view, node.view.labels
        yield NodeRow(
            name=view.node_name or view.name,
            pool=view.pool,
            instance_type=own.get(labels.INSTANCE_TYPE, ""),
            zone=own.get(labels.ZONE, ""),
            capacity_type=own.get(labels.CAPACITY_TYPE, ""),
            price=price(node),
            stages=tuple(_stages(node, start)),
        )
    for span in spans:
        if span.name == "terminate" and span.end >= start:
            yield _ended(span, start)


def _stages(node: ShownNode, start: datetime) -> Iterator[Stage]:
    """Yield what a node does, from when it was asked for; before the page's hour nothing is drawn."""
    view = node.view
    made = next(thing.created_at for thing in (view.claim, view.node) if thing is not None)
    began = max((made - start).total_seconds(), 0.0)
    ready = condition_of(view.claim.conditions, MILESTONES[-1]) if view.claim is not None else None
    progress = progress_of(view)
    if progress in {Progress.LAUNCHING, Progress.BOOTING, Progress.STARTING}:
        yield Stage(StageName.BOOTING, began, SHOWN_SECONDS)
        return
    in_use = began
    if ready is not None and ready.since is not None:
        in_use = max((ready.since - start).total_seconds(), began)
    if in_use > began:
        yield Stage(StageName.BOOTING, began, in_use)
    deleting = view.claim.deleting_since if view.claim is not None else None
    left = SHOWN_SECONDS if deleting is None else max((deleting - start).total_seconds(), in_use)
    if left > in_use:
        yield Stage(StageName.IN_USE, in_use, left)
    if left < SHOWN_SECONDS:
        yield Stage(StageName.DRAINING, left, SHOWN_SECONDS)


def _ended(span: Span, start: datetime) -> NodeRow:
    """Return the row of a node that is gone, as the span of its end knows it."""
    said = span.attributes
    end = (span.end - start).total_seconds()
    return NodeRow(
        name=str(said.get("k8s.node.name") or said.get(CLAIM, "")),
        pool=str(said.get(POOL, "")),
        instance_type="",
        zone="",
        capacity_type="",
        price=None,
        stages=(Stage(StageName.DRAINING, max((span.start - start).total_seconds(), 0.0), end),),
        cause=str(said.get(CAUSE, "gone")),
    )


def _decisions(spans: Sequence[Span]) -> Sheet:
    decided = [span for span in spans if span.name == "decide"]
    return Sheet(
        heading="Latest decisions",
        columns=("at (UTC)", "decision", "pods", "new nodes", "refused", "trace"),
        rows=tuple(
            (
                f"{span.end:%H:%M:%S}",
                str(span.attributes.get(DECISION_ID, "")),
                str(span.attributes.get("treenail.pods", "")),
                str(span.attributes.get("treenail.nodeclaims.count", 0)),
                str(span.attributes.get("treenail.refused", "")),
                span.context.trace_id,
            )
            for span in sorted(decided, key=lambda s: s.end, reverse=True)[:_MOST_DECISIONS]
        ),
        numbers=(2, 3, 4),
    )
