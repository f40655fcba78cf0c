"""OverlayInspector: holds node overlays against what pools could launch, to find where they conflict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.overlaid_types import OverlayConflict, overlaid
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Done, Outcome, Ref
from treenail.domain.ports import Cloud
from treenail.domain.status.overlay_verdicts import OverlaysJudged

# What is applied together is looked at once.
_GATHERED: Final = 1.0
_LOOK_SECONDS: Final = 300.0
_LOOK_AGAIN_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class _Look:
    """Private timer tick: hold the overlays against the catalogues."""


@dataclass(frozen=True, slots=True)
class _Looked:
    """The conflicts of overlays; or there was no answer, and the next look will have one."""

    outcome: Outcome[OverlaysJudged]


OverlayInspectorInbox: TypeAlias = PoolsSeen | _Look | _Looked


class OverlayInspector(DomainActor[OverlayInspectorInbox]):
    """Judge node overlays, and send the reporter `OverlaysJudged`: after changes and every five minutes.

    Owns the pools and overlays there are. Launches do not depend on the verdicts: they apply overlays
    themselves.
    """

    def __init__(self, runtime: Runtime, *, reporter: Ref[OverlaysJudged], cloud: Cloud) -> None:
        super().__init__(runtime)
        self._reporter = reporter
        self._cloud = cloud
        self._seen = PoolsSeen(pools=(), node_classes=())

    def handle(self, message: OverlayInspectorInbox) -> None:
        match message:
            case PoolsSeen():
                self._seen = message
                if message.overlays:
                    self.later("look", _Look(), seconds=_GATHERED)
            case _Look():
                self._look()
            case _Looked():
                self._tell(message.outcome)
            case _:
                assert_never(message)

    def _look(self) -> None:
        seen = self._seen
        if not seen.overlays:
            return
        self._tasks.run(
            ("ec2", "overlays"), lambda: self._judge(seen), self.me, _Looked, purpose=Purpose.HOUSEKEEPING
        )
        self.later("look", _Look(), seconds=_LOOK_SECONDS)

    def _tell(self, outcome: Outcome[OverlaysJudged]) -> None:
        if isinstance(outcome, Done):
            self._reporter.tell(outcome.value)
            return
        # What could not be looked at may be in conflict: what was found last stays.
        self.log("cannot look for conflicts of node overlays", level="warning", error=str(outcome.error))
        self.later("look", _Look(), seconds=_LOOK_AGAIN_SECONDS)

    def _judge(self, seen: PoolsSeen) -> OverlaysJudged:
        """Return where overlays conflict; PortError where it is not known what pools could launch. Blocks."""
        found = {one for pool in seen.pools for one in self._conflicts(pool, seen)}
        return OverlaysJudged(overlays=seen.overlays, conflicts=tuple(sorted(found)))

    def _conflicts(self, pool: NodePool, seen: PoolsSeen) -> tuple[OverlayConflict, ...]:
        node_class = next((one for one in seen.node_classes if one.ref == pool.node_class), None)
        if node_class is None or pool.deleting:
            return ()
        try:
            types = self._cloud.instance_types(node_class, pool.kubelet or node_class.kubelet)
        except NodeClassNotReadyError:
            return ()
        return overlaid(types, pool).conflicts
