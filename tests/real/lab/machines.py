"""The life of an instance: hidden, pending, running, shutting down, terminated, gone; each announced."""

from __future__ import annotations

import copy
import json
import re
from contextlib import suppress
from functools import partial
from typing import Any, Final

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError, InvalidInstanceIdError
from moto.ec2.models.instances import Instance, InstanceBackend, InstanceState
from moto.ec2.responses.instances import InstanceResponse
from moto.events.models import events_backends
from moto.sqs.exceptions import QueueDoesNotExist

from tests.real.lab.schedule import Schedule
from tests.real.lab.world import World

_CODES: Final = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48}
_ENDED: Final = ("shutting-down", "terminated")
_ID: Final = re.compile(r"i-([0-9a-f]{8}|[0-9a-f]{17})")
_NOTICE: Final = "EC2 Instance State-change Notification"


class Machines:
    """Makes moto's instances live at the world's pace."""

    def __init__(self, world: World, schedule: Schedule) -> None:
        self._world = world
        self._schedule = schedule
        self._hidden: set[str] = set()

    def reset(self) -> None:
        """Forget all instances."""
        self._hidden.clear()

    def install(self) -> None:
        """Patch moto."""
        self._patch_launching()
        self._patch_terminating()
        self._patch_describing()

    # --- launching

    def _patch_launching(self) -> None:
        plain = InstanceBackend.run_instances

        def run_instances(backend: Any, *args: Any, **kwargs: Any) -> Any:
            reservation = plain(backend, *args, **kwargs)
            for instance in reservation.instances:
                self._launched(instance)
            return reservation

        InstanceBackend.run_instances = run_instances

    def _launched(self, instance: Any) -> None:
        pace = self._world.pace
        for interface in instance.nics.values():
            # Else moto keeps interfaces, and their addresses, for ever.
            interface.delete_on_termination = True
        if pace.hidden > 0:
            self._hidden.add(instance.id)
            self._schedule.after(pace.hidden, partial(self._hidden.discard, instance.id))
        self._enter(instance, "pending")
        self._schedule.after(pace.pending, partial(self._runs, instance))

    def _runs(self, instance: Any) -> None:
        if instance.state == "pending":
            self._enter(instance, "running")

    # --- terminating

    def _patch_terminating(self) -> None:
        plain = Instance.terminate

        def terminate(instance: Any) -> Any:
            before = copy.copy(instance.instance_state)
            if before.name not in _ENDED:
                self._enter(instance, "shutting-down")
                self._schedule.after(self._world.pace.shutdown, partial(self._ended, instance, plain))
            return before

        def terminate_instances(request: Any) -> Any:
            ids = request._get_param("InstanceIds", [])
            request.error_on_dryrun()
            _check_form(ids)
            ended = request.ec2_backend.terminate_instances(list(dict.fromkeys(ids)))
            return ActionResult({"TerminatingInstances": [_told(i, before) for i, before in ended]})

        Instance.terminate = terminate
        InstanceResponse.terminate_instances = terminate_instances

    def _ended(self, instance: Any, plain: Any) -> None:
        plain(instance)
        self._announce(instance)
        self._schedule.after(self._world.pace.listed, partial(_forget, instance))

    def _enter(self, instance: Any, state: str) -> None:
        instance._state = InstanceState(state, _CODES[state])
        self._announce(instance)

    def _announce(self, instance: Any) -> None:
        if not self._world.state_events:
            return
        backend = instance.ec2_backend
        arn = f"arn:aws:ec2:{backend.region_name}:{backend.account_id}:instance/{instance.id}"
        detail = {"instance-id": instance.id, "state": instance.state}
        event = {"Source": "aws.ec2", "DetailType": _NOTICE, "Resources": [arn], "Detail": json.dumps(detail)}
        # An event that a rule cannot deliver is lost, and nobody is told.
        with suppress(QueueDoesNotExist):
            events_backends[backend.account_id][backend.region_name].put_events([event])

    # --- describing

    def _patch_describing(self) -> None:
        all_of, some_of = InstanceBackend.describe_instances, InstanceBackend.get_reservations_by_instance_ids

        def describe_instances(backend: Any, filters: Any = None) -> Any:
            reservations = all_of(backend, filters=filters)
            for reservation in reservations:
                reservation.instances = [i for i in reservation.instances if i.id not in self._hidden]
            return [reservation for reservation in reservations if reservation.instances]

        def get_reservations_by_instance_ids(
            backend: Any, instance_ids: list[str], filters: Any = None
        ) -> Any:
            _check_form(instance_ids)
            hidden = [i for i in instance_ids if i in self._hidden]
            if hidden:
                raise InvalidInstanceIdError(hidden)
            return some_of(backend, instance_ids, filters=filters)

        InstanceBackend.describe_instances = describe_instances
        InstanceBackend.get_reservations_by_instance_ids = get_reservations_by_instance_ids


def _told(instance: Any, before: Any) -> dict[str, Any]:
    # At the call's end an instance just ended is still shutting down, whatever its pace.
    now = "terminated" if before.name == "terminated" else "shutting-down"
    return {
        "InstanceId": instance.id,
        "CurrentState": {"Code": _CODES[now], "Name": now},
        "PreviousState": {"Code": before.code, "Name": before.name},
    }


def _forget(instance: Any) -> None:
    reservations = instance.ec2_backend.reservations
    for key, reservation in list(reservations.items()):
        if instance in reservation.instances:
            reservation.instances = [i for i in reservation.instances if i is not instance]
            if not reservation.instances:
                reservations.pop(key, None)


def _check_form(ids: list[str]) -> None:
    malformed = [i for i in ids if not _ID.fullmatch(i)]
    if malformed:
        raise EC2ClientError("InvalidInstanceID.Malformed", f'Invalid id: "{malformed[0]}"')
