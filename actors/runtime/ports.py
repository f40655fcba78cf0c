"""The ports of one system: what actors reach the outside by."""

from __future__ import annotations

from dataclasses import dataclass

from treenail.domain.ports import (
    Cloud,
    ClusterReader,
    ClusterWriter,
    InterruptionQueue,
    Solver,
    VolumeCost,
    ZonalShifts,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The world outside. Without a `volume_cost`, volumes of nodes cost nothing.

    Zonal shifts are heeded where somebody tells of them.
    """

    reader: ClusterReader
    writer: ClusterWriter
    cloud: Cloud
    queue: InterruptionQueue
    solver: Solver
    volume_cost: VolumeCost = lambda _: 0.0
    zonal_shifts: ZonalShifts | None = None
