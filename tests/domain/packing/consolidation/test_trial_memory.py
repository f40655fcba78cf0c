"""A trial is made once in each state of a cluster."""

from __future__ import annotations

from treenail.domain.packing.consolidation.trial import Removal, Trial
from treenail.domain.packing.consolidation.trial_memory import TrialMemory


def made(memory: TrialMemory, *removals: Removal) -> list[Removal]:
    """Ask for what comes of removals; return those for which a trial is made."""
    new: list[Removal] = []

    def make(removal: Removal) -> Trial:
        new.append(removal)
        return Trial(removed=removal.names)

    for removal in removals:
        assert memory.trial(removal, make) == Trial(removed=removal.names)
    return new


ONE, OTHER = Removal(names=("n0",)), Removal(names=("n1",))


def test_the_same_removal_is_tried_once_until_something_is_kept() -> None:
    memory = TrialMemory()

    assert made(memory, ONE, OTHER, ONE) == [ONE, OTHER]
    memory.go_on(OTHER)
    assert made(memory, ONE, ONE) == [ONE]


def test_a_removal_that_may_buy_is_another_trial() -> None:
    memory = TrialMemory()
    bought = Removal(names=("n0",), bought=True)
    required = Removal(names=("n0",), bought=True, required_only=True)

    assert made(memory, ONE, bought, required) == [ONE, bought, required]


def test_equal_steps_lead_to_one_state_and_others_to_others() -> None:
    memory = TrialMemory()
    memory.go_on(ONE)
    memory.go_on(OTHER)
    made(memory, ONE)

    memory.begin_anew()
    memory.go_on(ONE)
    memory.go_on(OTHER)
    assert made(memory, ONE) == []

    memory.begin_anew()
    memory.go_on(OTHER)
    memory.go_on(ONE)
    assert made(memory, ONE) == [ONE]
