"""Intervals of the reader: resync, full lists, pauses, and deadlines of watches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Between: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """All in seconds; of a pair, anything between.

    `resync` is the time from one full list to the next, `relist` after which a resource is read anew
    though its watch goes well, `look_again` when a resource is looked for that the server does not serve, and
    `withheld` are the first and the longest pause after which we ask again for what we may not see.
    `watch` is how long the server is asked to keep a watch open, `idle` how long one may be silent before
    its connection is taken to be dead: on a live one a bookmark comes about every minute. `first_pause`
    and `longest_pause` bound the pauses after failures, `congested` is how long a crowded inbox is left
    alone, `gather` how long changes gather after some were told. `page` is how many objects are asked for at
    a time. `linger` is how long a watch that is kept only while somebody asks goes on after that.
    """

    resync: Between = (540.0, 660.0)
    relist: Between = (3_000.0, 4_200.0)
    look_again: Between = (25.0, 35.0)
    withheld: Between = (30.0, 900.0)
    watch: Between = (300.0, 600.0)
    idle: float = 150.0
    list_idle: float = 30.0
    first_pause: float = 0.5
    longest_pause: float = 30.0
    congested: float = 0.02
    gather: float = 0.01
    stop: float = 2.0
    page: int = 500
    linger: float = 120.0
