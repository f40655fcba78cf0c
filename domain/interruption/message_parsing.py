"""Messages of the interruption queue: EventBridge's JSON, read and classified."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from treenail.domain.model.causes import Cause
from treenail.domain.telemetry.log_facts import shortened

# EC2 announces the end of a spot instance this long before it.
SPOT_NOTICE: Final = timedelta(seconds=120)
# Messages come within seconds; what they warn of is over after minutes.
_CLOCKS_AGREE: Final = timedelta(minutes=10)

# Of an instance in these states nothing runs any more.
_ENDED: Final = frozenset({"stopped", "terminated"})


class NoticeError(ValueError):
    """A message cannot be understood, although it should be: trying again will not help."""


class InterruptionKind(StrEnum):
    """The subject of a message, or of what EC2 says of a status, as Karpenter's metrics name it."""

    SPOT_INTERRUPTED = "spot_interrupted"
    REBALANCE_RECOMMENDATION = "rebalance_recommendation"
    INSTANCE_STOPPED = "instance_stopped"
    INSTANCE_TERMINATED = "instance_terminated"
    SCHEDULED_CHANGE = "scheduled_change"
    CAPACITY_RESERVATION_INTERRUPTED = "capacity_reservation_interrupted"
    INSTANCE_STATUS = "instance_status"
    SYSTEM_STATUS = "system_status"
    EVENT_STATUS = "event_status"
    NO_OP = "no_op"

    @property
    def cause(self) -> Cause | None:
        """The cause of a node's end that is given back for such a message; None where none is."""
        return None if self is InterruptionKind.NO_OP else Cause(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A message, understood. At `deadline`, where it is known, the instances go, ready or not.

    Of instances that are gone already that is when the event happened, at `time`; None where the message
    is of no concern and does not say. `problem` says what is wrong with parts that could not be read, where
    others could.
    """

    kind: InterruptionKind
    instance_ids: tuple[str, ...] = ()
    time: datetime | None = None
    deadline: datetime | None = None
    problem: str = ""

    def ends_at(self, received_at: datetime) -> datetime | None:
        """Return the deadline by the clock that says it was received at `received_at`.

        A message so old, or from the future, is from another clock: what it leaves counts from now.
        """
        if self.deadline is None or self.time is None or abs(received_at - self.time) <= _CLOCKS_AGREE:
            return self.deadline
        return received_at + (self.deadline - self.time)

    @property
    def cause(self) -> Cause | None:
        """The cause of a node's end that is given back for this; None where none is."""
        return self.kind.cause


_Object: TypeAlias = Mapping[str, object]


def parse_notice(body: str) -> Notice:
    """Read a message of the queue: an EventBridge event, as JSON.

    An event that is foreign to us (another source, detail type, version, service or state) or an
    empty body is a notice of the kind NO_OP.

    Raises:
        NoticeError: it is no JSON object, or an event of a kind we know whose content is not as documented.
    """
    if not body:
        return _no_op()
    event = _object_of(body)
    about = (event.get("version"), event.get("source"), event.get("detail-type"))
    read = next((read for known, read in _READERS if known == about), None)
    return _no_op() if read is None else read(event)


def _no_op() -> Notice:
    return Notice(kind=InterruptionKind.NO_OP)


def _notice(
    event: _Object, kind: InterruptionKind, ids: tuple[str, ...], deadline: datetime | None = None
) -> Notice:
    return Notice(
        kind=kind,
        instance_ids=ids,
        time=_time(event, "time"),
        deadline=deadline,
    )


def _spot(event: _Object) -> Notice:
    return _warning(event, InterruptionKind.SPOT_INTERRUPTED)


def _reservation(event: _Object) -> Notice:
    return _warning(event, InterruptionKind.CAPACITY_RESERVATION_INTERRUPTED)


def _rebalance(event: _Object) -> Notice:
    return _notice(event, InterruptionKind.REBALANCE_RECOMMENDATION, (_instance_id(_detail(event)),))


def _warning(event: _Object, kind: InterruptionKind) -> Notice:
    detail = _detail(event)
    if "instance-termination-time" in detail:
        deadline = _time(detail, "instance-termination-time")
    else:
        deadline = _after(_time(event, "time"), SPOT_NOTICE)
    return _notice(event, kind, (_instance_id(detail),), deadline)


def _state_change(event: _Object) -> Notice:
    detail = _detail(event)
    match detail.get("state"):
        case "stopping" | "stopped" as state:
            kind = InterruptionKind.INSTANCE_STOPPED
        case "shutting-down" | "terminated" as state:
            kind = InterruptionKind.INSTANCE_TERMINATED
        case str():
            return _no_op()
        case _:
            raise NoticeError("detail.state is missing")
    ended = _time(event, "time") if state in _ENDED else None
    return _notice(event, kind, (_instance_id(detail),), ended)


def _health(event: _Object) -> Notice:
    """Read a Health event. Among the entities it names may be instances.

    An entry that cannot be read does not affect the others.
    """
    detail = _detail(event)
    if detail.get("service") != "EC2" or detail.get("eventTypeCategory") != "scheduledChange":
        return _no_op()
    entities = detail.get("affectedEntities", [])
    if not isinstance(entities, list):
        raise NoticeError("detail.affectedEntities is not a list")
    named = [_entity(entity) for entity in entities]
    wrong = [str(n) for n, name in enumerate(named) if name is None]
    problem = f"detail.affectedEntities[{shortened(wrong)}]: no entityValue that is a text" if wrong else ""
    if wrong and len(wrong) == len(named):
        raise NoticeError(problem)
    ids = (name for name in named if name is not None and name.startswith("i-"))
    notice = _notice(event, InterruptionKind.SCHEDULED_CHANGE, tuple(dict.fromkeys(ids)))
    return replace(notice, problem=problem)


def _entity(entity: object) -> str | None:
    """Return what an entry names, None where it names nothing."""
    value = entity.get("entityValue") if isinstance(entity, dict) else None
    return value if isinstance(value, str) else None


def _object_of(body: str) -> _Object:
    try:
        event = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NoticeError(f"the message is not JSON: {error}") from None
    if not isinstance(event, dict):
        raise NoticeError("the message is not a JSON object")
    return event


def _detail(event: _Object) -> _Object:
    detail = event.get("detail")
    if not isinstance(detail, dict):
        raise NoticeError("the event has no detail")
    return detail


def _instance_id(detail: _Object) -> str:
    value = detail.get("instance-id")
    if not isinstance(value, str) or not value.startswith("i-"):
        raise NoticeError("detail.instance-id is not the id of an instance")
    return value


def _time(where: _Object, name: str) -> datetime:
    text = where.get(name)
    try:
        time = datetime.fromisoformat(text) if isinstance(text, str) else None
        if time is not None and time.tzinfo is not None:
            return time.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise NoticeError(f"{name} is not a time with its zone")


def _after(time: datetime, wait: timedelta) -> datetime:
    try:
        return time + wait
    except OverflowError:
        raise NoticeError("time is too late for anything to come after it") from None


# By version, source and detail type.
_READERS: Final[tuple[tuple[tuple[str, str, str], Callable[[_Object], Notice]], ...]] = (
    (("0", "aws.ec2", "EC2 Spot Instance Interruption Warning"), _spot),
    (("0", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"), _reservation),
    (("0", "aws.ec2", "EC2 Instance Rebalance Recommendation"), _rebalance),
    (("0", "aws.ec2", "EC2 Instance State-change Notification"), _state_change),
    (("0", "aws.health", "AWS Health Event"), _health),
)
