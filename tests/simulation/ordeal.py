"""A cluster at work while one thing goes wrong with AWS, and what it makes of that."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from tests.simulation.judge import Judge
from tests.simulation.storm import POOLS
from tests.simulation.workloads import PLAIN, workloads
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import EKS_DAEMONS, ClusterSettings
from treenail.adapters.fake.ec2 import EC2Faults, Spell

RECOVERY_SECONDS: Final = 60.0
# Time for machines to boot, for drains to end, and for garbage to be collected twice.
_SETTLING: Final = "12m"
_EMPTYING: Final = "15m"
# What happens to the cluster by itself ends so long before the trouble does.
_QUIET_SECONDS: Final = 5.0


@dataclass(slots=True)
class Ordeal:
    """One seeded history. `run` raises AssertionError at the first thing that must not be.

    `recovery` is then how many seconds after the end of the trouble every pod had a node or the instance
    that is to be its node.
    """

    trouble: str
    seed: int
    recovery: float = -1.0
    dice: random.Random = field(init=False)
    rehearsal: Rehearsal = field(init=False)
    judge: Judge = field(init=False)

    def __post_init__(self) -> None:
        self.dice = random.Random(f"{self.trouble}/{self.seed}")
        conditions = Conditions(
            system=SystemSettings(cluster_name="demo", early_binding=self.dice.random() < 0.3),
            cluster=ClusterSettings(system_daemons=EKS_DAEMONS),
            # Spot instances go now and then, whatever else there is.
            ec2_faults=EC2Faults(spot_interruption=self.dice.choice((0.0, 2.0))),
        )
        self.rehearsal = Rehearsal(seed=self.seed, conditions=conditions)
        self.judge = Judge(self.rehearsal)

    def run(self) -> None:
        """Work, suffer, recover, settle, and give everything back."""
        with self.rehearsal as rehearsal:
            rehearsal.apply(POOLS % {"limit": 1000, "ttl": self.dice.choice((0, 30, 120))})
            rehearsal.apply(workloads(PLAIN, self.dice))
            rehearsal.run(self.dice.choice((0.0, 1.5, 3.0, 200.0)) + self.dice.uniform(0, 5))
            seconds = TROUBLES[self.trouble](self)
            self._live_through(seconds)
            rehearsal.ec2.faults = EC2Faults()
            self.recovery = self.judge.recovered(within=RECOVERY_SECONDS)
            rehearsal.run(_SETTLING)
            self.judge.settled()
            for name in PLAIN:
                rehearsal.scale(name, 0)
            rehearsal.run(_EMPTYING)
            self.judge.empty()

    def _live_through(self, seconds: float) -> None:
        """Let the trouble pass, with a cluster that goes on living. The controller is there at the end."""
        rehearsal, end = self.rehearsal, self.rehearsal.seconds + seconds
        while rehearsal.seconds < end - _QUIET_SECONDS:
            rehearsal.run(min(self.dice.uniform(1, 15), end - _QUIET_SECONDS - rehearsal.seconds))
            self._something_happens()
        rehearsal.run(end - rehearsal.seconds)

    def _something_happens(self) -> None:
        events: list[Callable[[], None]] = [self._scale, self._crash, self._interrupt, self._delete, _nothing]
        self.dice.choices(events, weights=[8, 2, 2, 1, 4])[0]()

    def _scale(self) -> None:
        self.rehearsal.scale(self.dice.choice(PLAIN), self.dice.randint(0, 12))

    def _crash(self) -> None:
        self.rehearsal.crash()
        self.rehearsal.run(self.dice.uniform(0, _QUIET_SECONDS - 1))
        self.rehearsal.restart()
        self.rehearsal.run(0)

    def _interrupt(self) -> None:
        spot = [r for r in self.rehearsal.ec2.live() if r.instance.capacity_type == "spot"]
        if spot:
            self.rehearsal.ec2.outside.terminate(self.dice.choice(spot).instance.id)

    def _delete(self) -> None:
        claims = sorted(c.name for c in self.rehearsal.claims() if not c.leaving)
        if claims:
            self.rehearsal.delete("NodeClaim", self.dice.choice(claims))

    # --- troubles: each begins, and returns for how many seconds it lasts

    def spell(self, spell: Spell, least: float, most: float) -> float:
        """Be under a spell; one time out of five it lasts five times as long as `most`, at most."""
        seconds = self.dice.uniform(least, most * self.dice.choice((1, 1, 1, 1, 5)))
        self.rehearsal.ec2_under(spell, seconds)
        return seconds

    def two_at_once(self) -> float:
        """Any two spells, one of which may begin while the other lasts."""
        first, second = self.dice.sample(sorted(Spell), 2)
        at, world = self.dice.uniform(0, 60), self.rehearsal.world
        seconds = self.dice.uniform(20, 120)
        world.call_at(world.monotonic() + at, partial(self.rehearsal.ec2_under, second, seconds))
        return max(self.spell(first, 20, 120), at + seconds)

    def bursts(self) -> float:
        """Errors for some seconds, again and again."""
        at, world = 0.0, self.rehearsal.world
        for _ in range(self.dice.randint(2, 6)):
            seconds = self.dice.uniform(1, 20)
            burst = partial(self.rehearsal.ec2_under, Spell.AWAY, seconds)
            world.call_at(world.monotonic() + at, burst)
            at += seconds + self.dice.uniform(2, 20)
        return at

    def templates_gone(self) -> float:
        """They are deleted, again and again, and half the time cannot be made for a while."""
        world = self.rehearsal.world
        for _ in range(4):
            world.call_at(world.monotonic() + self.dice.uniform(0, 90), self.rehearsal.delete_templates)
        return self.spell(Spell.TEMPLATES_REFUSED, 0, 60) + 90 if self.dice.random() < 0.5 else 90.0

    def no_templates(self) -> float:
        """None can be made for twenty minutes, and half the time those that were there are gone too."""
        if self.dice.random() < 0.5:
            self.rehearsal.delete_templates()
        self.rehearsal.ec2_under(Spell.TEMPLATES_REFUSED, 1200)
        return 1200.0

    def queue_gone(self) -> float:
        seconds = self.dice.uniform(60, 300)
        self.rehearsal.queue_gone(seconds)
        return seconds


def _nothing() -> None:
    pass


TROUBLES: Final[Mapping[str, Callable[[Ordeal], float]]] = {
    "throttling": lambda o: o.spell(Spell.THROTTLED, 20, 180),
    "bursts of 5xx": Ordeal.bursts,
    "slow answers": lambda o: o.spell(Spell.SLOW, 30, 180),
    "lost answers": lambda o: o.spell(Spell.ANSWERS_LOST, 20, 180),
    "hidden instances": lambda o: o.spell(Spell.HIDDEN, 30, 180),
    "templates gone": Ordeal.templates_gone,
    "no templates for 20 minutes": Ordeal.no_templates,
    "queue gone": Ordeal.queue_gone,
    "two at once": Ordeal.two_at_once,
    "profile not to be seen yet": lambda o: o.spell(Spell.PROFILE_HIDDEN, 5, 120),
}
