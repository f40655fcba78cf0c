"""The story that a page tells, as plain values: whoever has a history, simulated or live, can fill it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class StageName(StrEnum):
    """Stages of a node, as a report shows them."""

    BOOTING = "booting"
    IN_USE = "in use"
    DRAINING = "draining"


@dataclass(frozen=True, slots=True)
class Stage:
    """A time in a node's life, `start` to `end` in seconds on the page's axis."""

    name: StageName
    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """A node's life. `price` is in $ per hour, None if not known; `cause` is why it ended, "" before that."""

    name: str
    pool: str
    instance_type: str
    zone: str
    capacity_type: str
    price: float | None
    stages: tuple[Stage, ...]
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """One figure of the summary, as it is read, with a line below it."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that wants attention: what it is about, and why. `at` is seconds on the axis, if known."""

    about: str
    why: str
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A value over time, as steps (at, value), `at` rising and in seconds. `unit` stands before it ("$")."""

    label: str
    steps: tuple[tuple[float, float], ...]
    unit: str = ""
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A share of a whole, such as the money that a pool cost."""

    label: str
    value: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table under its heading. `numbers` are the columns set flush right, `marked` the rows that warn."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    marked: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SpanRow:
    """A span of a trace, or an event within one, at a `depth` in its tree.

    `start` and `end` are seconds from the trace's start.
    """

    name: str
    depth: int
    start: float
    end: float
    error: str = ""
    details: str = ""
    event: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStory:
    """A decision, or a node's end, as the waterfall of its trace. `more` spans are not shown."""

    title: str
    at: float
    trace_id: str
    spans: tuple[SpanRow, ...]
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """All that a page shows. The axis goes from 0 to `seconds`.

    Its times are told as times of day where it `begins` at one, else since its start.

    `lead` is what matters most, a sentence each. `cut` says, in whole sentences, what was left out so
    that the page stays small.
    """

    title: str
    subtitle: str
    seconds: float
    facts: tuple[Fact, ...]
    lead: tuple[str, ...] = ()
    findings: tuple[tuple[str, tuple[Finding, ...]], ...] = ()
    curves: tuple[tuple[str, tuple[Curve, ...]], ...] = ()
    money: tuple[Bar, ...] = ()
    sheets: tuple[Sheet, ...] = ()
    nodes: tuple[NodeRow, ...] = ()
    traces: tuple[tuple[str, tuple[TraceStory, ...]], ...] = ()
    cut: tuple[str, ...] = ()
    begins: datetime | None = None
