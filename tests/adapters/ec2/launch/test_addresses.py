from __future__ import annotations

from collections.abc import Mapping

from tests.adapters.ec2.refusals import SleptTime
from treenail.adapters.ec2.launch.addresses import FreeAddresses
from treenail.adapters.ec2.resolved import Subnet


def subnet(name: str, free: int, *, zone: str = "a", looked_at: float = 0) -> Subnet:
    return Subnet(id=name, zone=zone, zone_id="", free_addresses=free, looked_at=looked_at)


class Launching:
    """Two subnets of zone a, one of zone b, and launches into them."""

    def __init__(self) -> None:
        self.time = SleptTime()
        self.free = FreeAddresses(self.time)
        self.looked_at = 0.0
        self.described = {"a1": 100, "a2": 80, "b1": 50}

    def subnets(self) -> tuple[Subnet, ...]:
        return tuple(
            subnet(name, free, zone=name[0], looked_at=self.looked_at)
            for name, free in self.described.items()
        )

    def look(self) -> None:
        """Describe the subnets again."""
        self.time.seconds += 1
        self.looked_at = self.time.seconds

    def launch(self, name: str, each: Mapping[str, int], instances: int = 1) -> None:
        self.time.seconds += 1
        self.free.deduct(name, each, instances=instances)

    def used(self) -> list[str]:
        return [one.id for _, one in sorted(self.free.roomiest(self.subnets()).items())]

    def left(self) -> dict[str, int]:
        return {one.id: self.free.left(one) for one in self.subnets()}


def test_of_the_subnets_in_a_zone_that_with_most_free_addresses_is_used() -> None:
    there = Launching()
    assert there.used() == ["a1", "b1"]

    there.described["a2"] = 100
    assert there.used() == ["a1", "b1"]
    there.described["a2"] = 101
    assert there.used() == ["a2", "b1"]


def test_what_launches_are_about_to_take_is_taken() -> None:
    there = Launching()

    there.launch("one", {"a1": 10, "b1": 10}, instances=3)

    assert there.left() == {"a1": 70, "a2": 80, "b1": 20}
    assert there.used() == ["a2", "b1"]


def test_what_was_not_taken_is_given_back() -> None:
    there = Launching()
    there.launch("one", {"a1": 10, "b1": 10}, instances=3)

    for _ in range(2):
        there.free.settle("one", {"a1": 2, "b1": 0})

    assert there.left() == {"a1": 80, "a2": 80, "b1": 50}


def test_a_look_that_began_after_a_launch_has_counted_what_it_took() -> None:
    there = Launching()
    there.launch("before", {"a1": 10})
    there.look()
    there.described["a1"] = 91
    there.launch("after", {"a1": 20})

    assert there.left()["a1"] == 71
    there.free.settle("before", {"a1": 1})
    assert there.left()["a1"] == 71


def test_more_than_there_are_may_be_in_flight() -> None:
    there = Launching()

    there.launch("one", {"a1": 30, "b1": 30}, instances=10)

    assert there.left()["b1"] == -250
    assert there.used() == ["a2", "b1"]


def test_a_subnet_that_ran_out_has_nothing_until_it_is_looked_at_again() -> None:
    there = Launching()
    there.time.seconds += 1

    there.free.exhaust(("a1",))

    assert there.left()["a1"] == 0
    assert there.used() == ["a2", "b1"]
    there.look()
    assert there.left()["a1"] == 100


def test_what_no_look_can_have_missed_is_forgotten() -> None:
    there = Launching()
    there.launch("one", {"a1": 10})
    there.free.exhaust(("b1",))
    there.time.seconds += 1000

    there.launch("two", {"a2": 10})

    assert there.left() == {"a1": 100, "a2": 70, "b1": 50}
