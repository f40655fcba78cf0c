"""Spans as values. Their ids derive from what they are about, so that writing one twice is harmless."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

# Version 00 has these four parts alone; a later one may have more behind them, and ff is no version.
_TRACEPARENT = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?"
)

Attribute: TypeAlias = "str | int | float | bool | tuple[str, ...]"


def _digest(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode(), digest_size=size).hexdigest()


@dataclass(frozen=True, slots=True, order=True)
class SpanContext:
    """The ids of a span's trace and of itself: 32 and 16 lower-case hexadecimal digits."""

    trace_id: str
    span_id: str

    @classmethod
    def root(cls, subject: str) -> SpanContext:
        """Return the context of the root span about `subject` ("decide/3f2a...")."""
        return cls(_digest(f"trace/{subject}", 16), _digest(f"root/{subject}", 8))

    def child(self, name: str) -> SpanContext:
        """Return the context of this span's child `name`, which no sibling may share."""
        return SpanContext(self.trace_id, _digest(f"{self.trace_id}/{self.span_id}/{name}", 8))

    @property
    def traceparent(self) -> str:
        """The W3C text that carries this context in an annotation."""
        return f"00-{self.trace_id}-{self.span_id}-01"

    @classmethod
    def parse(cls, traceparent: str) -> SpanContext | None:
        """Read a W3C traceparent; None where it is none."""
        match = _TRACEPARENT.fullmatch(traceparent)
        if match is None or (match[1] == "00" and match[4]):
            return None
        return cls(match[2], match[3])


class SpanKind(StrEnum):
    """Kinds of spans, by their relation to other spans, as OpenTelemetry defines them."""

    INTERNAL = "internal"
    CLIENT = "client"
    PRODUCER = "producer"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened within a span."""

    name: str
    at: datetime
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Link:
    """A span of another trace that this one has to do with."""

    to: SpanContext
    attributes: Mapping[str, Attribute] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A finished span. `error` is empty unless what it tells failed."""

    context: SpanContext
    parent: SpanContext | None = None
    name: str
    start: datetime
    end: datetime
    kind: SpanKind = SpanKind.INTERNAL
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    links: tuple[Link, ...] = ()
    error: str = ""
