"""Admission of connections: which one is closed when a new one finds no room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from enum import Enum, auto
from typing import Final, Protocol, TypeVar


class Stage(Enum):
    """The step that a connection is at."""

    HANDSHAKE = auto()
    HEAD = auto()
    BODY = auto()
    WAITING = auto()
    SENDING = auto()
    IDLE = auto()
    LINGERING = auto()


# It is the client's turn, in the middle of a request. In WAITING it is ours, in IDLE there is no request.
_UNFINISHED: Final = frozenset({Stage.HANDSHAKE, Stage.HEAD, Stage.BODY, Stage.SENDING, Stage.LINGERING})


class Standing(Protocol):
    """A connection as admission sees it.

    `since` is the monotonic second at which its request, the sending of its answer or its idleness began:
    what a client sends in the middle of a request does not make it younger. It is infinite until the
    connection was read from once. `number` counts arrivals.
    """

    source: str
    stage: Stage
    since: float
    number: int


S = TypeVar("S", bound=Standing)


def closed_for(
    source: str, present: Collection[S], *, most: int, most_of_source: int, since: float
) -> S | None:
    """Return the connection to be closed so that one more of `source` has room; None where none need be.

    Those that came to where they are after second `since` have not had their time yet, and stay. None is also
    returned where none can be closed: `is_full` says so of the port as a whole, and of one source there may
    then be more than `most_of_source`.
    """
    own = [each for each in present if each.source == source]
    leaving = first_to_close(own, since=since) if len(own) >= most_of_source else None
    if leaving is not None:
        return leaving
    return first_to_close(present, since=since) if len(present) >= most else None


def is_full(present: Collection[Standing], *, most: int, since: float) -> bool:
    """True if there is no room, and none can be made."""
    return len(present) >= most and first_to_close(present, since=since) is None


def first_to_close(rivals: Iterable[S], *, since: float) -> S | None:
    """Return whom to close first; None where all are newer than `since`, or wait for an answer of ours.

    Unfinished requests go first: of the source with most of them the oldest, so that who says nothing cannot
    keep others out. Idle connections go only where there are more of them than of the others: connections
    that are kept open leave half of the room to those that arrive, and a client's kept connections go on
    while others come and say nothing.
    """
    rivals = tuple(rivals)
    unfinished = [each for each in rivals if each.stage in _UNFINISHED]
    idle = [each for each in rivals if each.stage is Stage.IDLE]
    group = unfinished if len(unfinished) >= len(idle) else idle
    # Only now, so that a connection that has just come counts, even beside one that was idle for long.
    settled = [each for each in group if each.since <= since]
    count = Counter(each.source for each in settled)
    return min(settled, key=lambda each: (-count[each.source], each.since, each.number), default=None)
