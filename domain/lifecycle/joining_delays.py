"""Delays of nodes on their way into use: writes that fail or are slow, and obstacles to their use."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from treenail.domain.lifecycle.lifecycle import AbandonNode, MarkInitialized, NextStep, PatchClaim, SyncNode
from treenail.domain.model.claim_conditions import not_initialized
from treenail.domain.model.nodes import NodeView
from treenail.domain.telemetry.delays import Delay, DelayCause, DelayLog, FailingCalls
from treenail.domain.telemetry.tracing import SpanEvent

_USUAL_SECONDS: Final = 1.0
# Most nodes join within a minute of their launch, and are ready and show their resources within half of one.
_SHORTEST: Final[Mapping[DelayCause, timedelta]] = {
    DelayCause.NODE_JOINS: timedelta(seconds=60),
    DelayCause.NODE_NOT_USABLE: timedelta(seconds=30),
}
_CALLS: Final[Mapping[type, str]] = {
    AbandonNode: "Kubernetes/patch node",
    SyncNode: "Kubernetes/patch node",
    PatchClaim: "Kubernetes/patch claim",
    MarkInitialized: "Kubernetes/patch node",
}


class JoiningDelays:
    """The delays of the present stage of each claim: until its node is registered, and then until its use."""

    def __init__(self) -> None:
        self._logs: dict[str, DelayLog] = {}
        self._calls: dict[str, FailingCalls] = {}

    def tried(
        self,
        name: str,
        step: NextStep,
        within: tuple[Delay, ...],
        error: Exception | None,
        *,
        since: datetime,
        now: datetime,
    ) -> None:
        """Take in that a step of a claim was tried, `since` then, or why not."""
        what = _CALLS[type(step)]
        calls = self._calls.setdefault(name, FailingCalls())
        if error is not None:
            delays = calls.failed(what, what, error, within, since=since, now=now)
        else:
            delays = calls.answered(what, what, within, since=since, now=now, usual=_USUAL_SECONDS)
        for delay in delays:
            self._log(name).add(delay)

    def look(self, view: NodeView, now: datetime) -> None:
        """Take in what keeps a node from being used at present: it has not joined, or is not ready."""
        claim, node = view.claim, view.node
        if claim is None or claim.initialized:
            return
        if node is None:
            if claim.launched and not claim.registered:
                why = f"no node has joined for {claim.instance_type} in {claim.zone}"
                self._log(view.name).hold({DelayCause.NODE_JOINS: ((claim.instance_id,), why)}, now)
            return
        obstacle = not_initialized(claim, node, view.lacking_drivers) if claim.registered else None
        if obstacle is not None:
            self._log(view.name).hold(
                {DelayCause.NODE_NOT_USABLE: ((obstacle.reason,), obstacle.message)}, now
            )
        elif view.rivals:
            nodes = ", ".join(sorted((node.name, *view.rivals)))
            several = (("MultipleNodesFound",), f"several nodes have one machine: {nodes}")
            self._log(view.name).hold({DelayCause.NODE_NOT_USABLE: several}, now)
        elif view.name in self._logs:
            self._logs[view.name].hold({}, now)

    def take(self, name: str, now: datetime) -> tuple[SpanEvent, ...]:
        """Return what delayed the stage of a claim that is over, and forget it."""
        log = self._logs.pop(name, None)
        return log.take(now, shortest=_SHORTEST) if log is not None else ()

    def forget(self, name: str) -> None:
        """Take in that a claim is gone."""
        self._logs.pop(name, None)
        self._calls.pop(name, None)

    def _log(self, name: str) -> DelayLog:
        return self._logs.setdefault(name, DelayLog())
