"""A storm in which the replica that leads is killed, frozen, and cut off from the API server."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.simulation.invariants import Invariants
from tests.simulation.replicas import ReplicatedRehearsal
from tests.simulation.storm import MINUTES, Storm

# The lease, and what a takeover may take beyond it, for those who can reach the API server.
_TAKEN_OVER_WITHIN = 15.0 + 3.0


@dataclass(slots=True)
class LeaderStorm(Storm):
    """One seeded storm over three replicas. Two must never act at once."""

    replicated: ReplicatedRehearsal = field(init=False)
    lost: int = 0

    def __post_init__(self) -> None:
        Storm.__post_init__(self)
        self.replicated = ReplicatedRehearsal(seed=self.seed, conditions=self.rehearsal.conditions)
        self.rehearsal = self.replicated
        self.invariants = Invariants(self.rehearsal)
        self.rehearsal.world.after_step.append(self._look)

    def run(self) -> None:
        """Blow, calm down, check that all is well, and that one acted at a time."""
        Storm.run(self)
        assert self.replicated.check_turns() > 1
        assert self.lost > MINUTES / 4

    def _look(self) -> None:
        holders = [life for life in self.replicated.living if life.tenure.held]
        assert len(holders) <= 1, f"{len(holders)} may act at {self.rehearsal.seconds:.3f} s"

    def _crash_at_some_message(self, within: float) -> None:
        """Lose the leader after a drawn number of messages."""
        world, dice = self.rehearsal.world, self.dice
        at = world.steps + dice.randint(1, 400)
        world.run_until(lambda: world.steps >= at, at_most=world.monotonic() + within)
        self.replicated.keep_up()
        leader = self.replicated.leader
        if leader is None:
            return
        self.lost += 1
        match dice.choice(("kill", "freeze", "cut off")):
            case "kill":
                leader.end()
            case "freeze":
                leader.process.freeze(until=world.monotonic() + dice.uniform(1, 60))
            case _:
                leader.client.partitioned_until(world.monotonic() + dice.uniform(5, 60))
        self.rehearsal.run(dice.uniform(0, 2 * _TAKEN_OVER_WITHIN))
        self.replicated.keep_up()

    def _calm(self) -> None:
        self.replicated.keep_up()
        if self.replicated.leader is None:
            self.rehearsal.run(60)
        assert self.replicated.leader is not None, "nobody leads"
        Storm._calm(self)
