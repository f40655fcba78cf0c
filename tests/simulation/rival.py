"""A second controller in the world of a rehearsal: another process on the same cluster and the same EC2."""

from __future__ import annotations

import random

from treenail.actors.runtime.base import Runtime
from treenail.actors.runtime.ports import Ports
from treenail.actors.runtime.world import Process, SeededDice
from treenail.actors.system import System
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.queue import FakeQueue
from treenail.domain.termination.drain import InstanceTerminated


class Rival:
    """A controller beside that of `rehearsal`, which knows nothing of it and is told all the same."""

    def __init__(self, rehearsal: Rehearsal, *, seed: int) -> None:
        dice = random.Random(f"rival/{seed}")
        self._rehearsal = rehearsal
        # Spans and metrics go where those of the other go.
        self.telemetry = rehearsal.telemetry
        self.process = Process(rehearsal.world, latency=self._latency)
        runtime = Runtime(
            timers=self.process,
            tasks=self.process,
            dice=SeededDice(dice),
            telemetry=self.telemetry,
            failed=_raise,
        )
        client = rehearsal.cluster.client()
        ports = Ports(
            reader=client,
            writer=client,
            cloud=rehearsal.ec2,
            queue=FakeQueue(agenda=rehearsal.world, dice=dice),
            solver=rehearsal.conditions.solver,
        )
        self.system = System(runtime, self.process, ports, rehearsal.conditions.system, observer=self)
        self.system.start()

    def tell(self, message: object, /) -> None:
        """Take in why a machine ended, as the rehearsal does."""
        if isinstance(message, InstanceTerminated):
            self._rehearsal.machines.ended(message)

    def _latency(self, key: tuple[str, ...]) -> tuple[float, float]:
        match key[0]:
            case "kubernetes":
                return self._rehearsal.cluster.latency(key)
            case "ec2" | "sqs":
                return self._rehearsal.ec2.latency(key)
            case _:
                return 0.0, 0.0

    def leave(self) -> None:
        """End, as by SIGKILL."""
        self.process.kill()
        self.system.stop()


def _raise(error: BaseException) -> None:
    raise error
