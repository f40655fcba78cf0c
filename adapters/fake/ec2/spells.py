"""Spells: faults of all calls for a while, such as throttling or an outage."""

from __future__ import annotations

from enum import StrEnum

from treenail.domain.model.runtime import Agenda


class Spell(StrEnum):
    """A fault that all of EC2 has for a while.

    `THROTTLED`: every call is refused as one too many. `AWAY`: every call fails, and nothing is done. `SLOW`:
    every call takes `EC2Faults.slow_seconds` longer. `ANSWERS_LOST`: launches and terminations are done, and
    the calls fail. `HIDDEN`: a new instance is not listed for 30 s. `TEMPLATES_REFUSED`: no launch template
    can be made; existing ones can be launched from. `PROFILE_HIDDEN`: no instance profile is known, and
    fleets get no instances for want of it.
    """

    THROTTLED = "throttled"
    AWAY = "away"
    SLOW = "slow"
    ANSWERS_LOST = "answers-lost"
    HIDDEN = "hidden"
    TEMPLATES_REFUSED = "no-templates"
    PROFILE_HIDDEN = "no-profile"


class Spells:
    """The spells that EC2 is under. A spell that begins while it lasts already lasts until the later end."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self._until: dict[Spell, float] = {}

    def begin(self, spell: Spell, seconds: float) -> None:
        """Be under a spell for so many seconds from now on; ValueError where they are less than none."""
        if seconds < 0:
            raise ValueError(f"a spell cannot last {seconds} s")
        self._until[spell] = max(self._agenda.monotonic() + seconds, self._until.get(spell, 0.0))

    def on(self, spell: Spell) -> bool:
        """Return whether a spell lasts."""
        return self._agenda.monotonic() < self._until.get(spell, 0.0)
