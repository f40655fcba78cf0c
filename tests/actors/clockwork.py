"""An actor that only has timers."""

from __future__ import annotations

from dataclasses import dataclass

from tests.actors.stage import Stage
from tests.probes import Probe
from treenail.actors.runtime.base import DomainActor, Runtime
from treenail.domain.model.runtime import Ref


@dataclass(frozen=True, slots=True)
class Say:
    """Pass `word` on."""

    word: str


class Clockwork(DomainActor[Say]):
    """Arms what it is told: "key seconds", or takes "key" back."""

    def __init__(self, runtime: Runtime, *, heard: Ref[str]) -> None:
        super().__init__(runtime)
        self._heard = heard

    def handle(self, message: Say) -> None:
        key, _, seconds = message.word.partition(" ")
        if key == "rings":
            self._heard.tell(f"{self._timers.monotonic():g} {seconds}")
        elif seconds:
            self.later(key, Say(f"rings {key}"), seconds=float(seconds))
        else:
            self._timers.cancel(key, self.me)


def clockwork(stage: Stage, *words: str) -> Probe:
    heard = Probe()
    actor = stage.host(lambda runtime: Clockwork(runtime, heard=heard))
    for word in words:
        actor.tell(Say(word))
    return heard
