"""Replicas of the controller on one cluster and one EC2, which elect one that acts."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, Final

from treenail.actors.leader_elector import LeaderElector
from treenail.actors.runtime.base import NullRef, Runtime
from treenail.actors.runtime.ports import Ports
from treenail.actors.runtime.world import Process, SeededDice
from treenail.actors.system import System
from treenail.adapters.ec2.volume_costs import volume_cost
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.domain.leadership.news import LeaseHeld, LeaseLostError, LeaseNews
from treenail.domain.leadership.tenure import Tenure
from treenail.domain.model.errors import NotLeadingError
from treenail.domain.model.runtime import Outcome, Ref, TaskKey
from treenail.domain.termination.drain import InstanceTerminated

NAME: Final = "karpenter-leader-election"
COUNT: Final = 3
# What the ports of the outside do without changing anything.
_LOOK_UPS: Final = frozenset(
    {"feed", "stop", "get_claim", "list_claims", "list_nodes", "attached_volumes", "instance_types", "learn"}
    | {"launched_by", "instances", "impairments"}
)


class SendingProcess(Process):
    """A process that knows of each call whether it might be sent when it was, and when that was."""

    def __init__(self, rehearsal: ReplicatedRehearsal, tenure: Tenure) -> None:
        super().__init__(rehearsal.world, latency=rehearsal.latency)
        self._tenure = tenure
        self._sent: tuple[float, bool] | None = None

    @property
    def sent(self) -> tuple[float, bool]:
        """When the call at hand was sent, and whether it might be."""
        return self._sent or (self.monotonic(), self._tenure.held)

    def _send(
        self, key: TaskKey, call: Callable[[], Any], to: Ref[Any], then: Callable[[Outcome[Any]], Any]
    ) -> None:
        sent = (self.monotonic(), self._tenure.held)

        def carried_out() -> object:
            self._sent = sent
            try:
                return call()
            finally:
                self._sent = None

        super()._send(key, carried_out, to, then)


class Guarded:
    """A port whose calls that change something are asked about, and noted, as they were sent."""

    def __init__(self, port: object, replica: Replica) -> None:
        self._port = port
        self._replica = replica

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        return method if name in _LOOK_UPS else partial(self._change, name, method)

    def _change(self, name: str, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        at, allowed = self._replica.process.sent
        if not allowed:
            raise NotLeadingError(f"{name} was not sent")
        self._replica.changes.append(at)
        return method(*args, **kwargs)


class Replica:
    """One life of one replica: a candidate, and the whole system once it leads."""

    def __init__(self, rehearsal: ReplicatedRehearsal, number: int) -> None:
        self.changes: list[float] = []
        self.tenure = Tenure(rehearsal.world.monotonic)
        self.process = SendingProcess(rehearsal, self.tenure)
        self.client = rehearsal.cluster.client()
        self._rehearsal = rehearsal
        self._runtime = Runtime(
            timers=self.process,
            tasks=self.process,
            dice=SeededDice(random.Random(f"replica/{rehearsal.seed}/{number}")),
            telemetry=rehearsal.telemetry,
            failed=self._failed,
        )
        self.process.host(
            LeaderElector,
            self._runtime,
            store=self.client.lease(NAME),
            identity=f"replica-{number}",
            name=f"kube-system/{NAME}",
            tenure=self.tenure,
            observer=self,
        )
        self.system: System | None = None

    def tell(self, message: LeaseNews | object, /) -> None:
        """Lead once the lease is held; take in why a machine ended, as the rehearsal does."""
        if isinstance(message, LeaseHeld) and self.system is None:
            self._lead()
        elif isinstance(message, InstanceTerminated):
            self._rehearsal.machines.ended(message)
            self._rehearsal.timeline.note("", message)

    def _lead(self) -> None:
        rehearsal = self._rehearsal
        rehearsal.ec2.forget_observations()
        client: Any = Guarded(self.client, self)
        cloud: Any = Guarded(rehearsal.ec2, self)
        queue: Any = Guarded(rehearsal.queue, self)
        ports = Ports(
            reader=client,
            writer=client,
            cloud=cloud,
            queue=queue,
            solver=rehearsal.conditions.solver,
            volume_cost=volume_cost,
        )
        self.process.taps.append(
            lambda actor, message: rehearsal.timeline.note(type(actor).__name__, message)
        )
        self.system = System(self._runtime, self.process, ports, rehearsal.conditions.system, observer=self)
        rehearsal.leads(self)
        self.system.start()

    def _failed(self, error: BaseException) -> None:
        if not isinstance(error, LeaseLostError):
            raise error
        self.end()

    def end(self) -> None:
        """End at once, as by SIGKILL."""
        self.process.kill()
        self.client.stop()


class ReplicatedRehearsal(Rehearsal):
    """A rehearsal whose controller is whichever of three replicas leads; those that end are started anew."""

    def __init__(self, *, seed: int, conditions: Conditions) -> None:
        self.seed = seed
        self.lives: list[Replica] = []
        super().__init__(seed=seed, conditions=conditions)
        self.keep_up()

    def _start(self) -> None:
        """Have none that acts yet: its process is dead."""
        self.process = Process(self.world, latency=self.latency)
        runtime = Runtime(
            timers=self.process,
            tasks=self.process,
            dice=SeededDice(random.Random(self.seed)),
            telemetry=self.telemetry,
            failed=_raise,
        )
        nothing: Any = NullRef()
        ports = Ports(reader=nothing, writer=nothing, cloud=nothing, queue=nothing, solver=nothing)
        self.system = System(runtime, self.process, ports, self.conditions.system)
        self.process.kill()

    def latency(self, key: TaskKey) -> tuple[float, float]:
        """Draw how long a call takes, and its answer."""
        return self.cluster.latency(key) if key[0] in ("kubernetes", "lease") else self.ec2.latency(key)

    def leads(self, replica: Replica) -> None:
        """Take the one that leads for the controller."""
        assert replica.system is not None
        self.process, self.system = replica.process, replica.system

    def keep_up(self) -> None:
        """Have three replicas that live, as a ReplicaSet does."""
        while len(self.living) < COUNT:
            self.lives.append(Replica(self, len(self.lives)))

    @property
    def living(self) -> list[Replica]:
        return [life for life in self.lives if life.process.alive]

    @property
    def leader(self) -> Replica | None:
        return next((life for life in self.living if life.tenure.held), None)

    def check_turns(self) -> int:
        """Check that nobody sent anything after another had begun to; return how many acted."""
        sent: Mapping[int, list[float]] = {
            n: life.changes for n, life in enumerate(self.lives) if life.changes
        }
        turns = sorted((min(at), max(at), number) for number, at in sent.items())
        for (_, last, one), (first, _, other) in pairwise(turns):
            assert last < first, f"replicas {one} and {other} both acted between {first} and {last} s"
        return len(turns)


def _raise(error: BaseException) -> None:
    raise error
