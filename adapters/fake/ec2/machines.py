"""All instances, past and present: states, addresses and costs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Final

from treenail.adapters.api.account import Subnet
from treenail.adapters.fake.ec2.capacity import CapacityPools, Pool
from treenail.adapters.fake.ec2.network import Vpc
from treenail.adapters.fake.ec2.reservations import Reservations
from treenail.adapters.fake.ec2.settings import EC2Faults, EC2Settings
from treenail.adapters.fake.ec2.spells import Spell, Spells
from treenail.adapters.fake.luck import Span, chance, draw
from treenail.domain.model import labels
from treenail.domain.model.errors import NotFoundError
from treenail.domain.model.fleets import CLUSTER_TAG, LAUNCH_TAG, FleetRequest, Instance, InstanceState
from treenail.domain.model.resources import Resources
from treenail.domain.model.runtime import Agenda

_SECONDS_PER_HOUR: Final = 3600
_HIDDEN_SECONDS: Final = 30.0


class EndCause(StrEnum):
    """The cause of an instance's end: who or what ended it."""

    CONTROLLER = "controller"
    USER = "user"
    SPOT_INTERRUPTION = "spot interruption"
    SCHEDULED_CHANGE = "scheduled change"
    RESERVATION_ENDED = "end of its capacity block"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRecord:
    """An instance, as it is or was at last, and its history. What it costs ends with `terminated_at`."""

    instance: Instance
    request: FleetRequest
    subnet_id: str
    private_ip: str
    launched_at: datetime
    terminated_at: datetime | None
    cause: EndCause | None

    @property
    def price(self) -> float:
        """The price that the instance costs or did cost, in $/h."""
        return self.instance.price


@dataclass(slots=True, kw_only=True)
class Machine:
    """An instance and what only EC2 knows of it. Seconds are monotonic ones.

    `estimate` is what its node has for pods, whatever was learned of nodes before it. It is paid for from its
    launch on, or from `counted_from` where that was before anybody counted.
    """

    instance: Instance
    request: FleetRequest
    estimate: Resources
    subnet_id: str
    private_ip: str
    visible_at: float
    boot_seconds: float | None
    counted_from: datetime | None = None
    ended_at: datetime | None = None
    cause: EndCause | None = None

    @property
    def pool(self) -> Pool:
        """The capacity that it counts against."""
        instance = self.instance
        return Pool(instance.capacity_type, instance.instance_type, instance.zone)

    @property
    def cluster(self) -> str:
        """The cluster that its tags name; "" of none."""
        return self.instance.tags.get(CLUSTER_TAG, "")

    def record(self) -> InstanceRecord:
        return InstanceRecord(
            instance=self.instance,
            request=self.request,
            subnet_id=self.subnet_id,
            private_ip=self.private_ip,
            launched_at=self.instance.launched_at,
            terminated_at=self.ended_at,
            cause=self.cause,
        )

    def cost(self, now: datetime) -> float:
        """Return what it has cost until `now`, in $."""
        until = now if self.ended_at is None else min(now, self.ended_at)
        since = self.counted_from or self.instance.launched_at
        hours = (until - since).total_seconds() / _SECONDS_PER_HOUR
        return self.instance.price * max(hours, 0.0)


class Machines:
    """All machines, and what becomes of them by itself."""

    def __init__(
        self,
        agenda: Agenda,
        dice: random.Random,
        settings: EC2Settings,
        faults: Callable[[], EC2Faults],
        *,
        vpc: Vpc,
        pools: CapacityPools,
        reservations: Reservations,
        spells: Spells,
    ) -> None:
        self.on_change: list[Callable[[Machine], None]] = []
        self._agenda = agenda
        self._dice = dice
        self._settings = settings
        self._faults = faults
        self._vpc = vpc
        self._pools = pools
        self._reservations = reservations
        self._spells = spells
        self._all: dict[str, Machine] = {}
        self._present: dict[str, Machine] = {}
        self._by_token: dict[str, list[Machine]] = {}

    # --- looking

    def all(self) -> Iterable[Machine]:
        """Return every machine that ever was, oldest first."""
        return self._all.values()

    def find(self, instance_id: str) -> Machine | None:
        """Return a machine that is or was."""
        return self._all.get(instance_id)

    def describe(self, cluster: str, token: str | None = None) -> tuple[Instance, ...]:
        """Return what a listing shows now of the instances of a cluster, or those of one launch."""
        now = self._agenda.monotonic()
        among = self._present.values() if token is None else self._by_token.get(token, ())
        return tuple(
            m.instance
            for m in among
            if m.visible_at <= now
            and m.cluster == cluster
            and m.instance.state is not InstanceState.TERMINATED
        )

    def tag(self, instance_id: str, cluster: str, tags: Mapping[str, str]) -> None:
        """Give a machine tags.

        Raises:
            NotFoundError: there is none of this cluster, or it is not visible yet.
        """
        machine = self._present.get(instance_id)
        if machine is None or machine.cluster != cluster or machine.visible_at > self._agenda.monotonic():
            raise NotFoundError(f"InvalidInstanceID.NotFound: there is no instance {instance_id}")
        machine.instance = replace(machine.instance, tags={**machine.instance.tags, **tags})

    # --- life

    def start(self, instance: Instance, request: FleetRequest, subnet: Subnet, estimate: Resources) -> None:
        """Take an instance in that was just bought; there must be an address and capacity for it."""
        settings, faults = self._settings, self._faults()
        invisible = chance(self._dice, faults.invisible)
        hidden = draw(self._dice, faults.invisible_seconds if invisible else settings.visible)
        if self._spells.on(Spell.HIDDEN):
            hidden = _HIDDEN_SECONDS
        machine = Machine(
            instance=instance,
            request=request,
            estimate=estimate,
            subnet_id=subnet.id,
            private_ip=self._vpc.take(subnet),
            visible_at=self._agenda.monotonic() + hidden,
            boot_seconds=None if chance(self._dice, faults.never_joins) else draw(self._dice, settings.boot),
        )
        self._keep(machine)
        self._later(settings.pending, partial(self._run, machine))
        self._tell(machine)

    def adopt(self, instance: Instance, request: FleetRequest, subnet: Subnet, estimate: Resources) -> None:
        """Add an instance that existed before. It is visible to all, and its cost counts from now on.

        A pending one runs after a while; of one that runs, no notice is sent.
        """
        machine = Machine(
            instance=instance,
            request=request,
            estimate=estimate,
            subnet_id=subnet.id,
            private_ip=self._vpc.take(subnet) if self._vpc.free(subnet) else "",
            visible_at=self._agenda.monotonic(),
            boot_seconds=draw(self._dice, self._settings.boot),
            counted_from=self._agenda.now(),
        )
        self._keep(machine)
        if instance.state is InstanceState.PENDING:
            self._later(self._settings.pending, partial(self._run, machine))

    def _keep(self, machine: Machine) -> None:
        instance = machine.instance
        self._pools.take(machine.pool)
        self._reservations.take(instance.reservation)
        self._all[instance.id] = self._present[instance.id] = machine
        self._by_token.setdefault(instance.tags.get(LAUNCH_TAG, ""), []).append(machine)

    def terminate(self, machine: Machine, cause: EndCause) -> None:
        """Shut a machine down for good, unless it is already."""
        if not machine.instance.live:
            return
        if machine.ended_at is None:
            machine.ended_at, machine.cause = self._agenda.now(), cause
        self._enter(machine, InstanceState.SHUTTING_DOWN)
        self._later(self._settings.shutdown, partial(self._remove, machine))

    def unreserve(self, machine: Machine, price: float) -> None:
        """Let a machine go on without its reservation, on demand at a price in $/h."""
        self._pools.give_back(machine.pool)
        self._reservations.give_back(machine.instance.reservation)
        known = {k: v for k, v in machine.instance.labels.items() if k not in labels.OF_RESERVATIONS}
        machine.instance = replace(
            machine.instance,
            reservation="",
            capacity_type=labels.ON_DEMAND,
            price=price,
            labels={**known, labels.CAPACITY_TYPE: labels.ON_DEMAND},
        )
        self._pools.take(machine.pool)
        self._reservations.take("")

    def stop(self, machine: Machine, cause: EndCause) -> None:
        """Stop a running machine. It costs nothing from then on, and stays."""
        machine.ended_at, machine.cause = self._agenda.now(), cause
        self._enter(machine, InstanceState.STOPPING)
        self._later(self._settings.shutdown, partial(self._stopped, machine))

    def _run(self, machine: Machine) -> None:
        if machine.instance.state is InstanceState.PENDING:
            self._enter(machine, InstanceState.RUNNING)

    def _stopped(self, machine: Machine) -> None:
        if machine.instance.state is InstanceState.STOPPING:
            self._enter(machine, InstanceState.STOPPED)

    def _remove(self, machine: Machine) -> None:
        self._vpc.give_back(machine.subnet_id, machine.private_ip)
        self._pools.give_back(machine.pool)
        self._reservations.give_back(machine.instance.reservation)
        del self._present[machine.instance.id]
        self._enter(machine, InstanceState.TERMINATED)

    def _enter(self, machine: Machine, state: InstanceState) -> None:
        machine.instance = replace(machine.instance, state=state)
        self._tell(machine)

    def _tell(self, machine: Machine) -> None:
        for listener in self.on_change:
            listener(machine)

    def _later(self, span: Span, call: Callable[[], None]) -> None:
        self._agenda.call_at(self._agenda.monotonic() + draw(self._dice, span), call)
