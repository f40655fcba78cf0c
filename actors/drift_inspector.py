"""DriftInspector: surveys instances now and then, and what could be launched in their place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.cluster.cluster_facts import PoolsSeen
from treenail.domain.disruption.surveys import InstancesSurveyed
from treenail.domain.model.errors import PortError
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.overlaid_types import overlaid
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import Done, Outcome, Ref
from treenail.domain.ports import Cloud

_FIRST_SECONDS: Final = 60.0
_SURVEY_SECONDS: Final = 300.0


@dataclass(frozen=True, slots=True)
class _Survey:
    """Private timer tick: look."""


@dataclass(frozen=True, slots=True)
class _Surveyed:
    """The findings by pool; or there was no answer, and the next survey will have one."""

    outcome: Outcome[Mapping[str, InstancesSurveyed]]


DriftInspectorInbox: TypeAlias = PoolsSeen | _Survey | _Surveyed


class DriftInspector(DomainActor[DriftInspectorInbox]):
    """Survey instances for drift, and send each pool's disruptor `InstancesSurveyed` every five minutes.

    Owns the pools there are.
    """

    def __init__(
        self, runtime: Runtime, *, disruptor: Callable[[str], Ref[InstancesSurveyed]], cloud: Cloud
    ) -> None:
        super().__init__(runtime)
        self._disruptor = disruptor
        self._cloud = cloud
        self._seen = PoolsSeen(pools=(), node_classes=())

    def begin(self) -> None:
        self.later("survey", _Survey(), seconds=_FIRST_SECONDS)

    def handle(self, message: DriftInspectorInbox) -> None:
        match message:
            case PoolsSeen():
                self._seen = message
            case _Survey():
                self._survey()
            case _Surveyed():
                self._tell(message.outcome)
            case _:
                assert_never(message)

    def _survey(self) -> None:
        seen = self._seen
        if seen.pools:
            self._tasks.run(
                ("ec2", "survey"),
                lambda: self._look(seen),
                self.me,
                _Surveyed,
                purpose=Purpose.HOUSEKEEPING,
            )
        self.later("survey", _Survey(), seconds=_SURVEY_SECONDS)

    def _look(self, seen: PoolsSeen) -> dict[str, InstancesSurveyed]:
        """Return what each pool is to be told. Blocks."""
        surveyed_at = self._timers.now()
        instances = {instance.id: instance for instance in self._cloud.instances()}
        classes = {node_class.ref: node_class for node_class in seen.node_classes}
        return {
            pool.name: InstancesSurveyed(
                surveyed_at=surveyed_at,
                instances=instances,
                types=self._types(pool, classes.get(pool.node_class)),
            )
            for pool in seen.pools
        }

    def _types(self, pool: NodePool, node_class: NodeClass | None) -> Mapping[str, InstanceType] | None:
        if node_class is None:
            return None
        try:
            types = self._cloud.instance_types(node_class, pool.kubelet or node_class.kubelet)
        except PortError:
            return None
        return {one.name: one for one in overlaid(types, pool).types}

    def _tell(self, outcome: Outcome[Mapping[str, InstancesSurveyed]]) -> None:
        if isinstance(outcome, Done):
            for pool, surveyed in outcome.value.items():
                self._disruptor(pool).tell(surveyed)
        else:
            self.log("cannot survey instances", level="warning", error=str(outcome.error))
