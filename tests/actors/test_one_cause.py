"""An end has one cause, whoever else would have ended the node: the one that its claim says."""

from __future__ import annotations

import json

import pytest

from tests.actors.ending import Ending
from treenail.domain import labels
from treenail.domain.disruption import Cause, DisruptNodes
from treenail.domain.drain import InstanceTerminated
from treenail.domain.end_records import end_record
from treenail.domain.ending_trace import disruption_context
from treenail.domain.nodes import NodeClaim
from treenail.domain.ports import ClaimPatch


def expect_told_alike(stage: Ending, last: NodeClaim, cause: Cause) -> None:
    """Check that claim, log, event and observer agree on why the node of c1 went."""
    assert [m.cause for m in stage.observer.of(InstanceTerminated)] == [cause]
    assert [line["cause"] for line in stage.logged("deleted node")] == [cause.value]
    (ended,) = (r.event.message for r in stage.api.events() if r.event.reason == "Ended")
    assert ended.startswith(f"Ended: {cause.value}")
    assert last.annotations[labels.CAUSE] == cause.value
    assert json.loads(last.annotations[labels.END])["cause"] == cause.value


def watched(stage: Ending) -> list[NodeClaim]:
    """Return all that the claim ever says from now on."""
    seen: list[NodeClaim] = []
    stage.api.on_change(lambda c: seen.append(c.after) if isinstance(c.after, NodeClaim) else None)
    return seen


def waiting_for_places(stage: Ending) -> None:
    """Let the node of c1 be marked as drifted, and wait for a new node for its pod."""
    stage.pod("p1")
    there = stage.views.condemn("c1")
    order = DisruptNodes(nodes=(there,), cause=Cause.DRIFTED, replaced_first=True, decided_at=stage.now())
    stage.actor.tell(order)
    stage.decide(ready=False)
    stage.run(5)
    assert stage.told() == ["NodeCordoned"]


@pytest.mark.parametrize("kind", ["Node", "NodeClaim"])
@pytest.mark.parametrize("drifted", [False, True])
def test_what_somebody_deletes_was_deleted(kind: str, *, drifted: bool) -> None:
    stage = Ending()
    seen = watched(stage)
    if drifted:
        waiting_for_places(stage)

    stage.api.delete(kind, "c1" if kind == "NodeClaim" else "node-c1")
    stage.run(60)

    stage.assert_all_gone()
    expect_told_alike(stage, seen[-1], Cause.DELETED)


def test_what_was_garbage_was_that() -> None:
    stage = Ending()
    seen = watched(stage)
    waiting_for_places(stage)
    claim = stage.claim()
    assert claim is not None

    record = end_record(claim, Cause.GARBAGE_COLLECTED, disruption_context(claim))
    stage.api.patch_claim("c1", ClaimPatch(annotations=record.annotations()))
    stage.api.delete("NodeClaim", "c1")
    stage.run(60)

    stage.assert_all_gone()
    expect_told_alike(stage, seen[-1], Cause.GARBAGE_COLLECTED)
