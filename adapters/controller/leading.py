"""The actor system of the leading replica, with its imports: a waiting replica needs none of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from treenail.actors.interruption_listener import InterruptionListener
from treenail.actors.runtime.base import Runtime
from treenail.actors.runtime.ports import Ports
from treenail.actors.runtime.threads import Threads
from treenail.actors.system import System
from treenail.actors.termination_actor.termination_actor import TerminationActor
from treenail.adapters.controller.system_settings import system_settings
from treenail.adapters.settings.settings import Settings

# Of 2,000 pods bound in 15 s, some six come in this time. What is urgent is told at once.
_GATHER_SECONDS: Final = 0.05


def start_system(
    runtime: Runtime, threads: Threads, ports: Ports, settings: Settings, *, pause: float | None
) -> System:
    """Start all actors and return their system. Nothing is bought for `pause` seconds, where there is one."""
    told = replace(
        system_settings(settings),
        provisioning=pause is None,
        resumes_after=pause,
        gather_seconds=_GATHER_SECONDS,
    )
    system = System(runtime, threads, ports, told)
    system.start()
    return system


def interruptions_waiting(threads: Threads) -> int:
    """Return how many messages wait for the actors that hear of interruptions."""
    return threads.depth(InterruptionListener, TerminationActor)
