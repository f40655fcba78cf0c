"""Steps of many nodes' ends, gathered into one call to EC2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from treenail.domain.model.purposes import Purpose
from treenail.domain.model.runtime import TaskKey
from treenail.domain.termination.drain import AwaitGone, Terminate

GATHER_SECONDS: Final = 0.1
# Between two looks at which instances are gone: machines take longer than that to shut down.
_LOOKS_APART: Final = 2.0
_MOST_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """One call for many nodes: to terminate their instances, or (no ids) to see which are there."""

    steps: tuple[tuple[str, Terminate | AwaitGone], ...]
    ids: tuple[str, ...]
    purpose: Purpose

    @property
    def key(self) -> TaskKey:
        """The key of the call, by its kind and the first of its nodes."""
        return ("ec2", "terminate" if self.ids else "await", self.steps[0][0])


class GatheredEnds:
    """The steps that wait to be taken together with others. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._terminate: dict[str, tuple[Terminate, Purpose]] = {}
        self._await: dict[str, AwaitGone] = {}
        self._alone: dict[str, None] = {}
        self._looked_at = -_LOOKS_APART

    def add(self, name: str, step: Terminate | AwaitGone, purpose: Purpose) -> None:
        """Let the step of a node be taken with the next call for `purpose`."""
        match step:
            case Terminate():
                self._terminate[name] = (step, purpose)
            case AwaitGone():
                self._await[name] = step

    def part(self, together: Together) -> None:
        """Take these steps one by one from now on: a refusal may be due to only one of them."""
        self._alone |= dict.fromkeys(name for name, _ in together.steps)

    def forget(self, name: str) -> bool:
        """Take no step of a node; return whether one was waiting."""
        self._alone.pop(name, None)
        waiting = self._terminate.pop(name, None), self._await.pop(name, None)
        return waiting != (None, None)

    def next_at(self, now: float) -> float | None:
        """Return when to take the next steps, None where none waits."""
        if self._terminate:
            return now + GATHER_SECONDS
        return max(now + GATHER_SECONDS, self._looked_at + _LOOKS_APART) if self._await else None

    def take(self, now: float) -> tuple[Together, ...]:
        """Return the calls that are due, and wait with what they are for no longer."""
        taken, self._terminate = self._terminate, {}
        sets = [[name] for name in taken if name in self._alone]
        # EC2 counts what a call is about: one that is urgent waits for permits of its own instances alone.
        for purpose in Purpose:
            shared = [name for name in taken if name not in self._alone and taken[name][1] is purpose]
            sets += [shared[n : n + _MOST_AT_ONCE] for n in range(0, len(shared), _MOST_AT_ONCE)]
        calls = [_terminating([(name, *taken[name]) for name in names]) for names in sets]
        if self._await and now >= self._looked_at + _LOOKS_APART:
            steps = tuple(self._await.items())
            calls.append(Together(steps=steps, ids=(), purpose=Purpose.DISRUPTION))
            self._await, self._looked_at = {}, now
        return tuple(calls)


def _terminating(steps: list[tuple[str, Terminate, Purpose]]) -> Together:
    """Return the call for steps of one purpose."""
    return Together(
        steps=tuple((name, step) for name, step, _ in steps),
        ids=tuple(sorted(step.claim.instance_id for _, step, _ in steps)),
        purpose=steps[0][2],
    )
