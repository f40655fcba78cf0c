"""Health of instances: results of status checks, and scheduled events."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from treenail.adapters.fake.ec2.region import Region
from treenail.domain.interruption.impairments import Impairment, of_ending_reservations
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.model.fleets import InstanceState


class Health:
    """Remembers which instances are unwell, until they are terminated or `recover`.

    Every method raises ValueError where the thing could not happen to that instance. `admit` lets the call
    of an API through, or raises a PortError.
    """

    def __init__(self, region: Region, admit: Callable[[str], None], *, cluster: str) -> None:
        self._region = region
        self._admit = admit
        self._cluster = cluster
        self._found: dict[tuple[str, InterruptionKind], Impairment] = {}

    def fail(self, instance_id: str, kind: InterruptionKind = InterruptionKind.INSTANCE_STATUS) -> None:
        """Let a status check of an instance fail from now on: its own, or that of its host."""
        if kind not in (InterruptionKind.INSTANCE_STATUS, InterruptionKind.SYSTEM_STATUS):
            raise ValueError(f"{kind.value} is no check")
        self._note(Impairment(instance_id=instance_id, kind=kind, since=self._region.agenda.now()))

    def plan(self, instance_id: str, after_seconds: float) -> None:
        """Plan to stop, reboot or retire an instance at that time; what comes of it is not played."""
        deadline = self._region.agenda.now() + timedelta(seconds=after_seconds)
        kind = InterruptionKind.EVENT_STATUS
        self._note(Impairment(instance_id=instance_id, kind=kind, deadline=deadline))

    def recover(self, instance_id: str) -> None:
        """Let an instance be as well as any."""
        self._found = {key: one for key, one in self._found.items() if key[0] != instance_id}

    def impairments(self) -> tuple[Impairment, ...]:
        """Return what EC2 tells of running instances, and of reservations that are about to end them."""
        self._admit("DescribeInstanceStatus")
        unwell = tuple(one for (name, _), one in sorted(self._found.items()) if self._running(name))
        running = [m.instance for m in self._region.machines.all() if self._running(m.instance.id)]
        return unwell + of_ending_reservations(running, self._region.reservations.all())

    def _note(self, impairment: Impairment) -> None:
        if not self._running(impairment.instance_id):
            raise ValueError(f"there is no running instance {impairment.instance_id}")
        self._found[impairment.instance_id, impairment.kind] = impairment

    def _running(self, instance_id: str) -> bool:
        machine = self._region.machines.find(instance_id)
        ours = machine is not None and machine.cluster == self._cluster
        return ours and machine is not None and machine.instance.state is InstanceState.RUNNING
