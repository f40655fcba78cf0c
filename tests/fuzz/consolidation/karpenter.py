"""Karpenter's decision on what to consolidate, by the program in tests/bench/packing/karpenter."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from tests.fuzz.consolidation.clusters import Cluster
from tests.fuzz.consolidation.steps import Step
from tests.fuzz.karpenter import KarpenterError, program
from tests.fuzz.scenarios import text

Written: TypeAlias = Mapping[str, Any]


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


class KarpenterConsolidation:
    """Runs the disruption code in a process of its own, until the `with` block ends."""

    def __init__(self, folder: Path, catalogue: Path) -> None:
        self._file = folder / "cluster.json"
        command = [str(program()), "-consolidate", "-instance-types", str(catalogue)]
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    def decide(self, cluster: Cluster, *, each: bool = False) -> Consolidation:
        """Return what it would do; with `each`, also of every candidate alone, whatever budgets say.

        Raises:
            KarpenterError: it failed on the cluster.
        """
        self._file.write_text(text(cluster.items))
        asked = {"file": str(self._file), "spotToSpot": cluster.spot_to_spot, "each": each}
        answer = self._ask(json.dumps(asked))
        command = answer["command"]
        return Consolidation(
            step=_step(command) if command else None,
            method=command["method"] if command else "",
            each={name: _alone(one) for name, one in sorted(answer["each"].items())},
            blocked=answer["blocked"],
        )

    def _ask(self, line: str) -> Written:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        said = self._process.stdout.readline()
        if not said:
            raise KarpenterError("its process ended")
        answer: Written = json.loads(said)
        if "error" in answer:
            raise KarpenterError(str(answer["error"]))
        return answer


def _alone(written: Written) -> Alone:
    step = None if written["decision"] == "no-op" else _step(written)
    return Alone(step, written["method"], written["reason"])


def _step(written: Written) -> Step:
    return Step(
        removed=tuple(written["candidates"]),
        existing={node: tuple(pods) for node, pods in written["existing"].items()},
        claims=tuple(written["replacements"]),
    )
