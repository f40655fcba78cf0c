"""Karpenter's decision on what to consolidate, by the program in tests/bench/packing/karpenter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.consolidation.clusters import Cluster
from tests.fuzz.consolidation.steps import Step
from tests.fuzz.karpenter import KarpenterProcess, Written
from tests.fuzz.scenarios import text


@dataclass(frozen=True)
class Alone:
    """What Karpenter would do with one node if there were no other: `step` is None where it would stay.

    `method` is empty or single, by whether it takes the node for empty.
    """

    step: Step | None
    method: str
    reason: str


@dataclass(frozen=True)
class Consolidation:
    """What Karpenter would do first, None where nothing; of each candidate alone; why others are none."""

    step: Step | None
    method: str
    each: Mapping[str, Alone]
    blocked: Mapping[str, str]


class KarpenterConsolidation(KarpenterProcess):
    """Runs Karpenter's disruption code; `folder` is to write to."""

    def __init__(self, folder: Path, catalogue: Path) -> None:
        super().__init__("-consolidate", folder, catalogue)

    def decide(self, cluster: Cluster, *, each: bool = False) -> Consolidation:
        """Return what it would do; with `each`, also of every candidate alone, whatever budgets say.

        Raises:
            KarpenterError: it failed on the cluster.
        """
        self.file.write_text(text(cluster.items))
        asked = {"file": str(self.file), "spotToSpot": cluster.spot_to_spot, "each": each}
        answer = self.ask(json.dumps(asked))
        command = answer["command"]
        return Consolidation(
            step=_step(command) if command else None,
            method=command["method"] if command else "",
            each={name: _alone(one) for name, one in sorted(answer["each"].items())},
            blocked=answer["blocked"],
        )


def _alone(written: Written) -> Alone:
    step = None if written["decision"] == "no-op" else _step(written)
    return Alone(step, written["method"], written["reason"])


def _step(written: Written) -> Step:
    return Step(
        removed=tuple(written["candidates"]),
        existing={node: tuple(pods) for node, pods in written["existing"].items()},
        claims=tuple(written["replacements"]),
    )
