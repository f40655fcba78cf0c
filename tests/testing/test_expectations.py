"""Actors of a test's own, beside which messages can still be waited for."""

from __future__ import annotations

import pytest

from treenail.testing import DomainActor, InstanceType, NodeLaunched, Rehearsal, Runtime


class Greeting:
    """A message of a test's own."""


class Farewell:
    """Another one."""


def greeter() -> type[DomainActor[Greeting]]:
    class Words:
        """A class that only this function knows."""

    class Greeter(DomainActor[Greeting]):
        def __init__(self, runtime: Runtime, words: Words) -> None:
            super().__init__(runtime)
            self.words = words

        def handle(self, message: Greeting) -> None: ...

    return Greeter


def test_an_actor_whose_parameters_only_its_test_knows_does_not_get_in_the_way() -> None:
    own = greeter()

    with Rehearsal(seed=1) as rehearsal:
        rehearsal.run("1s")
        for kind in (NodeLaunched, Greeting, Farewell):
            rehearsal.expect_none(kind, during="1s")
        with pytest.raises(ValueError, match="no actor is ever told InstanceType"):
            rehearsal.expect_none(InstanceType, during="1s")

    assert own in DomainActor.__subclasses__()
