"""Ends of instances from outside: interruptions, retirements, other people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from treenail.adapters.api.account import ReservedCapacity
from treenail.adapters.fake.ec2.machines import EndCause, Machine
from treenail.adapters.fake.ec2.notices import Notices
from treenail.adapters.fake.ec2.region import Region
from treenail.adapters.fake.luck import fork
from treenail.adapters.fake.queue import FakeQueue
from treenail.domain.model import labels
from treenail.domain.model.fleets import InstanceState

_SECONDS_PER_HOUR: Final = 3600


class Troubles:
    """Ends instances from outside, with the notices that go with it.

    Every method raises ValueError where the thing could not happen to that instance.
    """

    def __init__(self, region: Region, queue: FakeQueue | None) -> None:
        self._region = region
        self._machines = region.machines
        self._dice = fork(region.dice)
        self._notices = Notices(
            region.agenda,
            fork(region.dice),
            queue,
            region=region.name,
            account=region.settings.account,
        )
        self._noticed: dict[str, None] = {}
        self._machines.on_change.append(self._changed)
        region.reservations.on_end = self._reservation_ended

    def interrupt(self, instance_id: str, notice_seconds: float) -> None:
        """Warn of the end of a spot instance, and end it when the notice is over."""
        if notice_seconds < 0:
            raise ValueError(f"a notice of {notice_seconds} s cannot be given")
        machine = self._spot(instance_id)
        if instance_id in self._noticed:
            raise ValueError(f"{instance_id} is being interrupted already")
        self._noticed[instance_id] = None
        self._notices.spot_interruption(instance_id)
        self._later(notice_seconds, partial(self._machines.terminate, machine, EndCause.SPOT_INTERRUPTION))

    def being_interrupted(self, instance_id: str) -> bool:
        """Return whether the end of an instance was announced."""
        return instance_id in self._noticed

    def recommend_rebalance(self, instance_id: str) -> None:
        """Send the notice that a spot instance is at an elevated risk of interruption."""
        self._notices.rebalance(self._spot(instance_id).instance.id)

    def terminate(self, instance_id: str) -> None:
        """Terminate an instance as somebody at a console would."""
        self._machines.terminate(self._live(instance_id), EndCause.USER)

    def stop(self, instance_id: str) -> None:
        """Stop an instance as somebody at a console would. One-time spot instances cannot be stopped."""
        machine = self._live(instance_id)
        if machine.instance.capacity_type == labels.SPOT:
            raise ValueError(f"{instance_id} is a spot instance of a one-time request: it cannot be stopped")
        if machine.instance.state is not InstanceState.RUNNING:
            raise ValueError(f"{instance_id} is {machine.instance.state.value}, not running")
        self._machines.stop(machine, EndCause.USER)

    def retire(self, instance_ids: Sequence[str], after_seconds: float) -> None:
        """Announce the retirement of the hardware of instances, and end them at that time."""
        machines = [self._live(instance_id) for instance_id in instance_ids]
        if not machines or after_seconds < 0:
            raise ValueError("a retirement needs instances, and a time to come")
        self._notices.retirement(instance_ids, self._region.agenda.now() + timedelta(seconds=after_seconds))
        for machine in machines:
            end = partial(self._machines.terminate, machine, EndCause.SCHEDULED_CHANGE)
            self._later(after_seconds, end)

    def _reservation_ended(self, reserved: ReservedCapacity) -> None:
        """End the instances of a capacity block; those of other reservations go on on demand."""
        for machine in list(self._machines.all()):
            if machine.instance.reservation != reserved.id or not machine.instance.live:
                continue
            if reserved.known_as.reservation.block:
                self._machines.terminate(machine, EndCause.RESERVATION_ENDED)
            else:
                price = self._region.shop.on_demand_price(machine.instance.instance_type)
                self._machines.unreserve(machine, price)

    def _live(self, instance_id: str) -> Machine:
        machine = self._machines.find(instance_id)
        if machine is None or not machine.instance.live:
            raise ValueError(f"there is no live instance {instance_id}")
        return machine

    def _spot(self, instance_id: str) -> Machine:
        machine = self._live(instance_id)
        if machine.instance.capacity_type != labels.SPOT:
            raise ValueError(f"{instance_id} is no spot instance")
        return machine

    def _changed(self, machine: Machine) -> None:
        state = machine.instance.state
        if self._region.settings.state_notices:
            self._notices.state_change(machine.instance.id, state)
        if state is InstanceState.PENDING and machine.instance.capacity_type == labels.SPOT:
            self._expect_interruption(machine)

    def _expect_interruption(self, machine: Machine) -> None:
        rate = self._region.faults().spot_interruption
        if rate > 0:
            wait = self._dice.expovariate(rate / _SECONDS_PER_HOUR)
            self._later(wait, partial(self._interrupt_by_chance, machine))

    def _interrupt_by_chance(self, machine: Machine) -> None:
        still_so = self._region.faults().spot_interruption > 0
        if still_so and machine.instance.live and machine.instance.id not in self._noticed:
            self.interrupt(machine.instance.id, 120)

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        self._region.agenda.call_at(self._region.agenda.monotonic() + seconds, call)
