from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from tests.actors.electing import NAME, Candidate, WrongClock
from tests.adapters.fake.cluster.builders import a_claim
from treenail.actors.runtime.world import World
from treenail.adapters.fake.cluster import ClusterFaults, FakeCluster
from treenail.domain.leadership.news import LeaseElsewhere, LeaseHeld, LeaseLostError, LeaseUnread
from treenail.domain.telemetry import metrics

# The lease, and what it takes to see that it is over.
TAKEN_OVER_WITHIN = 15.0 + 3.0


@dataclass
class Race:
    """Candidates, of whom never two may act at once."""

    seed: int = 1
    candidates: list[Candidate] = field(default_factory=list)
    made_at: float | None = None

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.world = World(self.seed)
        self.cluster = FakeCluster(agenda=self.world, dice=self.dice)
        self.world.after_step.append(self.check)

    def launch(self) -> None:
        """Let there be a node, as where somebody has led."""
        self.cluster.apply(a_claim("default-1"))

    def lease_stood_for(self, seconds: float) -> bool:
        """Whether candidates cannot overlook the lease: they look at it now and then."""
        return self.made_at is not None and self.world.monotonic() - self.made_at > seconds

    def delete_lease(self) -> None:
        self.cluster.lease(NAME).delete()

    def join(self, name: str, clock: WrongClock | None = None) -> Candidate:
        candidate = Candidate(self.world, self.cluster, name, self.dice, clock or WrongClock(self.world))
        self.candidates.append(candidate)
        return candidate

    def check(self) -> None:
        there = self.cluster.lease(NAME).there is not None
        self.made_at = (self.made_at or self.world.monotonic()) if there else None
        acting = [candidate.name for candidate in self.candidates if candidate.may_act]
        assert len(acting) <= 1, f"{acting} may act at {self.world.monotonic():.3f} s"

    def run(self, seconds: float) -> None:
        self.world.run(until=self.world.monotonic() + seconds)


@pytest.fixture
def race() -> Race:
    return Race()


def leads(candidate: Candidate) -> float | None:
    return candidate.telemetry.gauged(metrics.LEADER.name, name=NAME)


def test_the_first_leads_at_once_and_the_second_waits_and_says_for_whom(race: Race) -> None:
    first = race.join("a")
    race.run(1)
    second = race.join("b")
    race.run(60)

    assert first.news == [LeaseHeld()]
    assert second.news == [LeaseElsewhere("a")]
    assert (leads(first), leads(second)) == (1.0, 0.0)
    assert first.led_at is not None
    assert first.led_at < 0.2


def test_where_the_leader_is_killed_another_leads_within_the_lease_and_three_seconds(race: Race) -> None:
    first = race.join("a")
    race.run(1)
    second = race.join("b")
    race.run(30)
    first.process.kill()
    race.run(TAKEN_OVER_WITHIN)

    assert second.news[-1] == LeaseHeld()


def test_whoever_is_frozen_for_longer_than_the_lease_may_begin_nothing_and_ends(race: Race) -> None:
    first = race.join("a")
    race.run(1)
    second = race.join("b")
    race.run(30)
    first.process.freeze(until=race.world.monotonic() + 60)
    race.run(61)

    assert second.news[-1] == LeaseHeld()
    assert isinstance(first.lost, LeaseLostError)
    assert leads(first) == 0.0


def test_whoever_is_alone_and_frozen_past_the_deadline_ends_too(race: Race) -> None:
    first = race.join("a")
    race.run(30)
    first.process.freeze(until=race.world.monotonic() + 11)
    race.run(12)

    assert str(first.lost) == f"the lease kube-system/{NAME} is lost: it could not be renewed in time"


def test_a_leader_that_is_cut_off_ends_at_its_deadline_before_another_leads(race: Race) -> None:
    first = race.join("a")
    race.run(1)
    second = race.join("b")
    race.run(30)
    first.client.partitioned_until(race.world.monotonic() + 60)
    race.run(10.5)

    assert isinstance(first.lost, LeaseLostError)
    assert LeaseHeld() not in second.news
    race.run(8)
    assert LeaseHeld() in second.news


def test_an_api_server_that_is_away_for_a_moment_costs_nobody_the_lease(race: Race) -> None:
    first = race.join("a")
    race.run(30)
    race.cluster.unavailable_until(race.world.monotonic() + 6)
    race.run(30)

    assert first.lost is None
    assert [type(news) for news in first.news] == [LeaseHeld, LeaseUnread, LeaseHeld]


def test_a_replica_that_starts_after_the_lease_of_a_leader_was_deleted_leaves_it_to_that_one(
    race: Race,
) -> None:
    race.launch()
    first = race.join("a")
    race.run(30)
    race.delete_lease()
    second = race.join("b")
    race.run(60)

    assert first.news == [LeaseElsewhere(""), LeaseHeld()]
    assert first.lost is None
    assert second.news[0] in (LeaseElsewhere(""), LeaseElsewhere("a"))
    assert LeaseHeld() not in second.news


def test_a_replica_that_starts_without_a_lease_leads_when_a_leader_that_is_cut_off_is_past_its_deadline(
    race: Race,
) -> None:
    race.launch()
    first = race.join("a")
    race.run(30)
    first.client.partitioned_until(race.world.monotonic() + 60)
    race.delete_lease()
    second, at = race.join("b"), race.world.monotonic()
    race.run(TAKEN_OVER_WITHIN)

    assert isinstance(first.lost, LeaseLostError)
    assert second.led_at is not None
    assert second.led_at - at > 15
    assert "there is no lease: waiting, as whoever held it may act still" in [
        line.message for line in second.telemetry.logs
    ]


def test_a_leader_whose_lease_is_deleted_has_it_again_within_its_next_renewal(race: Race) -> None:
    first = race.join("a")
    race.run(30)
    race.delete_lease()
    race.run(3.5)
    made = race.cluster.lease(NAME).read()

    assert made is not None
    assert (made.holder, made.transitions) == ("a", 0)
    assert first.news == [LeaseHeld()]


def test_a_lease_that_somebody_else_takes_is_lost_at_once(race: Race) -> None:
    first = race.join("a")
    race.run(30)
    store = race.cluster.lease(NAME)
    there = store.read()
    assert there is not None
    store.write(there.given_up(), over=there)
    race.run(3)

    assert str(first.lost) == f"the lease kube-system/{NAME} is lost: it is nobody's now"


def test_an_acquisition_whose_answer_is_lost_is_found_out(race: Race) -> None:
    race.cluster.faults = ClusterFaults(answer_lost=1.0)
    first = race.join("a")
    race.run(5)
    assert first.led_at is None
    race.cluster.faults = ClusterFaults()
    race.run(5)

    assert first.news[-1] == LeaseHeld()


@pytest.mark.seeds(quick=60, soak=2_000)
def test_never_may_two_act_whatever_happens_to_them_and_one_soon_does_again(seed: int) -> None:
    race = Race(seed)
    # Without any claim, a replica that starts takes a lease that is not there for one that never was.
    race.launch()
    dice, world = random.Random(f"events/{seed}"), race.world
    race.cluster.faults = ClusterFaults(
        answer_lost=dice.choice((0.0, 0.1)), unavailable=dice.choice((0.0, 0.1))
    )

    def join() -> None:
        clock = WrongClock(world, rate=dice.uniform(0.95, 1.05), hours=dice.uniform(-48, 48))
        race.join(f"r-{len(race.candidates)}", clock)

    for _ in range(3):
        join()
    for _ in range(40):
        race.run(dice.uniform(0, 25))
        there = [candidate for candidate in race.candidates if candidate.process.alive]
        while len(there) < 3:
            join()
            there.append(race.candidates[-1])
        leader = next((c for c in there if c.may_act), there[0])
        chosen = dice.choice([leader, leader, *there])
        match dice.choice(("kill", "freeze", "cut off", "away", "delete")):
            case "kill":
                chosen.process.kill()
            case "freeze":
                chosen.process.freeze(until=world.monotonic() + dice.uniform(0.1, 40))
            case "cut off":
                chosen.client.partitioned_until(world.monotonic() + dice.uniform(1, 40))
            case "delete" if race.lease_stood_for(15):
                race.delete_lease()
                if dice.random() < 0.5:
                    join()
            case _:
                race.cluster.unavailable_until(world.monotonic() + dice.uniform(1, 30))
    race.cluster.faults = ClusterFaults()
    race.run(90)
    assert sum(candidate.may_act for candidate in race.candidates) == (
        1 if any(candidate.process.alive for candidate in race.candidates) else 0
    )
