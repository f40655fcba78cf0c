"""What DescribeInstanceStatus tells: moto finds every instance well, whatever it is asked for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from moto.core.responses import ActionResult
from moto.ec2.responses.instances import InstanceResponse

_CHECKS: Final = {"instance": "InstanceStatus", "system": "SystemStatus"}
_STATUS_FILTERS: Final = {f"{check}-status.status": field for check, field in _CHECKS.items()}


class Statuses:
    """The checks that fail, and the events that are planned, by instance."""

    def __init__(self) -> None:
        self._failing: dict[tuple[str, str], datetime] = {}
        self._events: dict[str, list[dict[str, Any]]] = {}

    def reset(self) -> None:
        """Let all be well."""
        self._failing.clear()
        self._events.clear()

    def install(self) -> None:
        """Patch moto."""

        def describe_instance_status(request: Any) -> Any:
            request.error_on_dryrun()
            running = request.ec2_backend.describe_instance_status(
                request._get_param("InstanceIds", []),
                request._get_bool_param("IncludeAllInstances", if_none=False),
                [],
            )
            told = [self._told(instance) for instance in running]
            filters = request._filters_from_querystring().items()
            return ActionResult({"InstanceStatuses": [t for t in told if _passes(t, dict(filters))]})

        InstanceResponse.describe_instance_status = describe_instance_status

    def fail(self, *, instance_id: str, check: str, seconds: float) -> None:
        """Let a check ("instance" or "system") have failed for so many seconds."""
        self._failing[instance_id, _CHECKS[check]] = datetime.now(UTC) - timedelta(seconds=seconds)

    def plan(self, *, instance_id: str, code: str, seconds: float, description: str) -> None:
        """Plan an event in so many seconds."""
        event = {
            "InstanceEventId": f"instance-event-{len(self._events):017x}",
            "Code": code,
            "Description": description,
            "NotBefore": datetime.now(UTC) + timedelta(seconds=seconds),
        }
        self._events.setdefault(instance_id, []).append(event)

    def _told(self, instance: Any) -> dict[str, Any]:
        return {
            "InstanceId": instance.id,
            "AvailabilityZone": instance.placement.zone,
            "InstanceState": {"Code": instance.instance_state.code, "Name": instance.instance_state.name},
            "Events": self._events.get(instance.id, []),
            **{field: self._summary(instance.id, field) for field in _CHECKS.values()},
        }

    def _summary(self, instance_id: str, field: str) -> dict[str, Any]:
        since = self._failing.get((instance_id, field))
        if since is None:
            return {"Status": "ok", "Details": [{"Name": "reachability", "Status": "passed"}]}
        detail = {"Name": "reachability", "Status": "failed", "ImpairedSince": since}
        return {"Status": "impaired", "Details": [detail]}


def _passes(told: dict[str, Any], filters: dict[str, list[str]]) -> bool:
    for name, values in filters.items():
        if name in _STATUS_FILTERS:
            passes = told[_STATUS_FILTERS[name]]["Status"] in values
        elif name == "event.code":
            passes = any(event["Code"] in values for event in told["Events"])
        else:
            raise NotImplementedError(f"the filter {name} of DescribeInstanceStatus")
        if not passes:
            return False
    return True
