"""The whole system on fakes, in virtual time: what `treenail rehearse` and your own tests run."""

from __future__ import annotations

from treenail.adapters.embed.conditions import Conditions
from treenail.adapters.embed.history import NodeRecord
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.embed.timeline import TimelineEntry

__all__ = ["Conditions", "NodeRecord", "Rehearsal", "TimelineEntry"]
