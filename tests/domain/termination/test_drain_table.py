"""The table of a drain as a whole: what docs/architecture.md shows of it, and that it is all there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import START, bound_pod, claim, conditions, view
from tests.domain.drains import MARK, leaving
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import LAUNCHED, READY, Condition, NodeView, Status
from treenail.domain.model.pods import Pod
from treenail.domain.model.taints import DISRUPTED, UNREGISTERED
from treenail.domain.termination.drain import (
    Abandon,
    AwaitDetached,
    AwaitGone,
    Cordon,
    DeleteClaim,
    DeleteNode,
    FindInstance,
    LetGo,
    SayEnd,
    Step,
    Terminate,
    note_done,
)
from treenail.domain.termination.drain_table import TABLE, DrainState, Facts, Row, find_row
from treenail.domain.termination.eviction_order import MoveOut
from treenail.domain.termination.leaving import Leaving

PAGE = Path(__file__).parents[3] / "docs" / "architecture.md"
ENDS = {DrainState.STAYS, DrainState.GONE}
# More steps than a drain takes.
MANY = 60


def steps(row: Row) -> tuple[str, ...]:
    """Return the names of the steps that a row may lead to, as its function says."""
    found = get_type_hints(row.do)["return"] if row.do.__name__ != "<lambda>" else bool
    kinds = [kind for kind in get_args(found) or (found,) if kind not in (type(None), bool)]
    return tuple("a wait" if kind is datetime else kind.__name__ for kind in kinds)


def table() -> str:
    """Return the table as docs/architecture.md shows it."""
    lines = ["| state | where | step | then |", "|---|---|---|---|"]
    before = None
    for row in TABLE:
        state = f"**{row.state.value}**" if row.state is not before else ""
        lines.append(f"| {state} | {row.where} | {' or '.join(steps(row))} | {row.then.value} |")
        before = row.state
    return "\n".join(lines)


def test_the_page_shows_the_table_that_drains_run_by() -> None:
    shown = PAGE.read_text().split("<!-- drain -->")[1].split("<!-- /drain -->")[0].strip()

    assert shown == table()


def rows(state: DrainState) -> list[Row]:
    return [row for row in TABLE if row.state is state]


def onward(state: DrainState, *, silently: bool = False) -> set[DrainState]:
    """Return the states that may follow, itself included; `silently`: those to which no step leads."""
    seen, new = set[DrainState](), {state}
    while new:
        seen |= new
        new = {r.then for s in new for r in rows(s) if not (silently and steps(r))} - seen
    return seen


def test_every_state_is_reached_and_has_a_way_out() -> None:
    assert onward(DrainState.TOLD) == set(DrainState)
    for state in set(DrainState) - ENDS:
        assert onward(state) & ENDS, state
    assert not any(rows(state) for state in ENDS)


@pytest.mark.parametrize("state", [state for state in DrainState if state not in ENDS])
def test_every_state_says_what_is_done_where_nothing_else_holds(state: DrainState) -> None:
    assert rows(state)[-1].where == "otherwise"
    assert [row.where for row in rows(state)].count("otherwise") == 1


class Drain:
    """A node that goes, at an API server and an EC2 that do at once what they are asked."""

    def __init__(self, there: NodeView, state: Leaving, pods: int) -> None:
        self.view, self.leaving, self.now = there, state, START
        self.pods = tuple(bound_pod(f"p{n}", "node-c1") for n in range(pods))
        self.machine, self.attached, self.bought = True, frozenset({"pv-1"}), False
        self.end: DrainState | None = None

    def look(self) -> tuple[Row, Step]:
        return find_row(Facts(self.view, self.pods, self.leaving, self.now))

    def step(self) -> Row:
        """Take the next step, and return the row that led to it."""
        row, step = self.look()
        if isinstance(step, datetime):
            assert step > self.now
            self.now = step
        else:
            self.end = row.then if isinstance(step, Abandon | LetGo) else None
            looks = isinstance(step, FindInstance | AwaitGone)
            self.leaving.looked_at = self.now if looks else self.leaving.looked_at
            asked_at, self.now = self.now, self.now + timedelta(seconds=5 if looks else 0.1)
            note_done(self.leaving, step, self._do(step), asked_at=asked_at, now=self.now)
        return row

    def _do(self, step: Step) -> object:
        match step:
            case Cordon():
                self.of_node(taints=(DISRUPTED,))
            case Abandon():
                self.of_node(taints=())
            case DeleteClaim():
                self.of_claim(deleting_since=self.now)
            case DeleteNode():
                self.of_node(deleting_since=self.now)
            case SayEnd(at=at):
                self.of_claim(annotations={labels.ENDS_AT: at.isoformat()})
            case FindInstance():
                self.of_claim(provider_id="aws:///a/i-c1" if self.bought else "")
                return self.bought
            case MoveOut(evict=evict, delete=delete):
                left = {pod.uid for pod in (*evict, *(pod for pod, _ in delete))}
                self.pods = tuple(pod for pod in self.pods if pod.uid not in left)
            case AwaitDetached():
                attached, self.attached = self.attached, frozenset()
                return attached
            case Terminate():
                self.machine = False
            case AwaitGone(claim=its):
                return frozenset({its.instance_id} if self.machine else ())
            case _:
                pass
        return None

    def of_node(self, **fields: Any) -> None:
        if self.view.node is not None:
            self.view = replace(self.view, node=replace(self.view.node, **fields))

    def of_claim(self, **fields: Any) -> None:
        if self.view.claim is not None:
            self.view = replace(self.view, claim=replace(self.view.claim, **fields))

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def keep_pods(self, *pods: Pod) -> None:
        self.pods = pods

    def lose_node(self) -> None:
        if self.view.claim is not None:
            self.view = replace(self.view, node=None)


# What others do meanwhile.
EVENTS: dict[str, Callable[[Drain], object]] = {
    "time passes": lambda d: d.pass_time(7),
    "much time passes": lambda d: d.pass_time(660),
    "a pod comes": lambda d: d.keep_pods(*d.pods, bound_pod(f"late{d.now}", "node-c1")),
    "a pod leaves": lambda d: d.keep_pods(*d.pods[1:]),
    "places are ready": lambda d: d.leaving.note_places({pod.uid: True for pod in d.pods}, d.now),
    "the cordon is taken off": lambda d: d.of_node(taints=()),
    "the claim is deleted": lambda d: d.of_claim(deleting_since=d.now),
    "the node is deleted": lambda d: d.of_node(deleting_since=d.now),
    "the node is gone": lambda d: d.lose_node(),
    "the kubelet is lost": lambda d: d.of_node(conditions=(Condition(type=READY, status=Status.UNKNOWN),)),
    "EC2 takes the machine": lambda d: setattr(d, "machine", False),
    "EC2 warns": lambda d: setattr(d.leaving, "ends_at", d.now + timedelta(minutes=2)),
    "its move is withdrawn": lambda d: setattr(d.leaving, "withdrawn", "it costs more than planned"),
    "somebody insists": lambda d: d.leaving.insist(Cause.SPOT_INTERRUPTED),
    "volumes are told of": lambda d: setattr(d.leaving, "volumes", {pod.uid: ("pv-1",) for pod in d.pods}),
    "its call bought something": lambda d: setattr(d, "bought", True),
}
CAUSES = (Cause.EMPTY, Cause.DRIFTED, Cause.UNDERUTILIZED, Cause.DELETED, Cause.SPOT_INTERRUPTED)
STARTING = {"conditions": conditions(LAUNCHED)}
EARLY = {"annotations": {labels.MADE_EARLY: "true"}, "conditions": ()}
NODES = {
    "in use": view(),
    "not joined": view(of_claim=STARTING, of_node={"taints": (UNREGISTERED,)}),
    "joined, and its claim does not say so yet": view(of_claim=STARTING),
    "made early": view(of_claim=STARTING, of_node=EARLY),
    "not launched": NodeView(claim=claim("c1")),
    "marked": NodeView(claim=claim("c1", annotations=MARK)),
    "nobody's": NodeView(node=view().node),
    "held": replace(view(), holder="c2"),
    "held with a node": replace(view(), holder="c2", kept_node="node-c2"),
}


def begun(node: str, cause: Cause, pods: int) -> Drain:
    consolidated = cause is Cause.UNDERUTILIZED
    first = consolidated or cause is Cause.DRIFTED
    return Drain(NODES[node], leaving(cause, replaced_first=first, emptied_first=consolidated), pods)


DRAINS = st.builds(begun, st.sampled_from(list(NODES)), st.sampled_from(CAUSES), st.integers(0, 2))


def taken(drain: Drain) -> Iterator[Row]:
    """Take steps to the end, and yield the rows that led to them."""
    for _ in range(MANY):
        yield drain.step()
        if drain.end is not None:
            return
        drain.view = replace(drain.view, kept_node="")  # the other claim says that it has it
    pytest.fail(f"no end after {MANY} steps")


@given(DRAINS)
def test_a_step_that_is_done_leads_where_the_table_says(drain: Drain) -> None:
    before: Row | None = None
    for row in taken(drain):
        if before is not None:
            assert row.state in onward(before.then, silently=True), before.where
        waits = steps(row) == ("a wait",) or (drain.end is None and row.then in ENDS)
        before = None if waits else row


@given(DRAINS, st.lists(st.sampled_from(list(EVENTS)), max_size=25))
def test_whatever_happens_meanwhile_a_drain_is_in_the_table_and_comes_to_an_end(
    drain: Drain, events: list[str]
) -> None:
    for event in events:
        EVENTS[event](drain)
        row, step = drain.look()
        assert row in TABLE
        assert ("a wait" if isinstance(step, datetime) else type(step).__name__) in steps(row)
        if not isinstance(step, Abandon | LetGo | datetime):
            drain.step()

    assert list(taken(drain))


def test_every_row_that_has_a_step_is_come_to() -> None:
    met = set[Row]()
    for node, cause, pods, event in product(NODES, CAUSES, (0, 1), EVENTS):
        drain = begun(node, cause, pods)
        EVENTS[event](drain)
        met.update(taken(drain))

    assert [row.where for row in TABLE if steps(row) and row not in met] == []
