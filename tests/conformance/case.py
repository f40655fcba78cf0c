"""A case: what is given, what is done and what is then expected, step after step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tests.conformance.stage import USUAL, Setting, Stage, Step
from tests.scenarios.manifests import Manifest

Given: TypeAlias = Manifest | Step | Sequence[Manifest]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One `It` or `Entry` of Karpenter's suites, translated.

    `source` is its file and line, `what` says it in our words. Manifests that stand next to each other
    are applied at once (but an object that comes again after those before it), and then the cluster settles.
    Where `differs` says why, the steps expect what Treenail does in place of what Karpenter does.
    """

    source: str
    what: str
    steps: tuple[Given, ...]
    setting: Setting
    differs: str = ""

    @property
    def id(self) -> str:
        return f"{self.source} {self.what}"

    def play(self) -> None:
        """Do all steps, in a world of its own."""
        stage = Stage(self.setting)
        with stage.rehearsal:
            batch: dict[tuple[str, str, str], Manifest] = {}
            for step in _flat(self.steps):
                if callable(step) or _name(step) in batch:
                    _apply(stage, batch)
                if callable(step):
                    step(stage)
                else:
                    batch[_name(step)] = step
            _apply(stage, batch)


def _name(manifest: Manifest) -> tuple[str, str, str]:
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]


def _apply(stage: Stage, batch: dict[tuple[str, str, str], Manifest]) -> None:
    if batch:
        stage.apply(*batch.values())
        stage.settle()
        batch.clear()


def _flat(steps: Iterable[Given]) -> Iterator[Manifest | Step]:
    for step in steps:
        if isinstance(step, Sequence):
            yield from step
        else:
            yield step


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite of Karpenter's, by its path below pkg/, under a setting of its own."""

    path: str
    setting: Setting = USUAL

    def case(
        self, line: int, what: str, *steps: Given, differs: str = "", setting: Setting | None = None
    ) -> Case:
        """Return the case that stands at a line."""
        return Case(
            source=f"{self.path}:{line}",
            what=what,
            steps=steps,
            differs=differs,
            setting=setting or self.setting,
        )
