"""Treenail's decision on a scenario, made as `treenail simulate -o json` makes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

from tests.fuzz.manifests import Manifest
from tests.fuzz.scenarios import text
from tests.untroubled import untroubled
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.cli.simulation_report import as_json
from treenail.adapters.embed.simulation import FixedCatalogue, Simulation
from treenail.adapters.kwok.catalogue import read_catalogue
from treenail.domain.packing.problem import PackingSettings

Written: TypeAlias = dict[str, Any]


class Treenail:
    """Decides with the instance types of a catalogue file."""

    def __init__(self, catalogue: Path, settings: PackingSettings | None = None) -> None:
        self._catalogue = FixedCatalogue(read_catalogue(catalogue))
        self._settings = settings or PackingSettings()

    def decide(self, items: Sequence[Manifest], *, repeat: int = 1) -> Written:
        """Return the last of so many decisions, each from fresh objects; `seconds` has one figure each.

        Raises:
            ProblemsMetError: something went wrong with a plan, though every pod has its place or its reason.
        """
        manifests = parse_manifests(text(items).encode(), "scenario")
        seconds = []
        for _ in range(repeat):
            decoded = decode_all(manifests, node_classes_optional=True)
            simulation = Simulation(decoded, self._catalogue, self._settings, manifests=manifests)
            began = perf_counter()
            simulation.decide()
            seconds.append(perf_counter() - began)
            untroubled(simulation.plan)
        return as_json(simulation, seconds)
