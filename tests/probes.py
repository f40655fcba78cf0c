"""Stand-ins for those an actor tells, and for its luck."""

from __future__ import annotations

from treenail.testing.probes import PlainDice, Probe

__all__ = ["PlainDice", "Probe"]
