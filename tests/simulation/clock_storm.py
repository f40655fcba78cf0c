"""A storm in which clocks are set: that of the controller's machine, those of the cluster, or all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.simulation.storm import Storm
from treenail.adapters.fake.cluster import Change
from treenail.domain.lifecycle.lifecycle import LAUNCH_TIMEOUT, REGISTRATION_TIMEOUT
from treenail.domain.model.nodes import NodeClaim

STEPS = (-3600.0, 3600.0, -5.0, 5.0)
# A time that is being put right runs by a tenth faster or slower.
_SLEW = 0.1


@dataclass(slots=True)
class ClockStorm(Storm):
    """One seeded storm whose clocks are set several times, and never back to what was right."""

    stepped: list[tuple[float, str, float]] = field(default_factory=list)
    _made_at: dict[str, float] = field(default_factory=dict)
    _launched_at: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        Storm.__post_init__(self)
        self.rehearsal.cluster.on_change(self._note)

    def _something_happens(self) -> None:
        if self.dice.random() < 0.15:
            self._step()
        Storm._something_happens(self)

    def run(self) -> None:
        """Blow, with a step for certain, and see that nothing was given up before its time."""
        self.rehearsal.world.call_at(self.dice.uniform(60, 600), self._step)
        Storm.run(self)
        self._check_ages()

    def _step(self) -> None:
        whose, seconds = self.dice.choice(("controller", "cluster", "both")), self.dice.choice(STEPS)
        self.stepped.append((self.rehearsal.seconds, whose, seconds))
        if whose != "cluster":
            self.rehearsal.step_clock(seconds)
        if whose != "controller":
            self.rehearsal.step_cluster_clock(seconds)

    def _note(self, change: Change) -> None:
        if isinstance(change.after, NodeClaim):
            claim = change.after
            self._made_at.setdefault(claim.name, self.rehearsal.seconds)
            if claim.launched:
                self._launched_at.setdefault(claim.name, self.rehearsal.seconds)

    def _restarted_since_a_step(self, made_at: float, until: float) -> bool:
        """Return whether nobody could know how old a claim is.

        A process that starts has nothing but the cluster's clock to tell that by.
        """
        steps = (at for at, whose, _ in self.stepped if whose != "controller" and made_at <= at <= until)
        starts = [e.at for e in self.rehearsal.timeline.entries if e.event == "ControllerStarted"]
        return any(step <= start <= until for step in steps for start in starts)

    def _check_ages(self) -> None:
        """Check that no claim was given up for its age before it was as old."""
        for entry in self.rehearsal.timeline.entries:
            if entry.event != "NodeNeverCame":
                continue
            name, cause = str(entry.fields["nodeClaim"]), entry.fields["cause"]
            if cause == "launch_timeout":
                since, may = self._made_at[name], LAUNCH_TIMEOUT.total_seconds()
            elif cause == "registration_timeout":
                since, may = self._launched_at[name], REGISTRATION_TIMEOUT.total_seconds()
            else:
                continue
            if self._restarted_since_a_step(self._made_at[name], entry.at):
                continue
            age = entry.at - since
            assert age >= may * (1 - _SLEW) - 1, f"{name}: {cause} after {age:.0f} s, {self.stepped}"
