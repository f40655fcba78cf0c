from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.builders import at, node_class, node_pool
from treenail.domain.model.catalogue_keys import CatalogueKey, catalogue_key
from treenail.domain.model.errors import UnavailableError
from treenail.domain.scheduling.catalogue_delays import CatalogueDelays
from treenail.domain.telemetry.delays import DelayCause

AWAY = UnavailableError("no answer")


def key(version: int = 1, name: str = "default") -> CatalogueKey:
    one = replace(node_class(), resource_version=version)
    found = catalogue_key(node_pool(), one)
    return replace(found, node_class=replace(found.node_class, name=name))


def failed(*keys: CatalogueKey) -> CatalogueDelays:
    """Return the delays where reads of these catalogues were not answered at second 1."""
    delays = CatalogueDelays()
    for one in keys:
        delays.note(one, (), AWAY, since=at(0), now=at(1))
    return delays


def test_a_catalogue_that_is_not_answered_delays_each_decision_that_needs_it_until_it_is() -> None:
    delays = failed(key())

    for now in (2, 60):
        (one,) = delays.during([key()], at(1), at(now))
        assert (one.cause, one.lasted) == (DelayCause.NO_ANSWER, timedelta(seconds=now))
    delays.note(key(), (), None, since=at(70), now=at(71))

    assert [one.until for one in delays.during([key()], at(65), at(72))] == [at(70)]
    assert delays.during([key()], at(72), at(80)) == ()


def test_an_answer_for_a_later_revision_of_the_node_class_ends_the_delay() -> None:
    delays = failed(key(version=1))
    delays.note(key(version=2), (), None, since=at(10), now=at(11))

    assert [one.until for one in delays.during([key(version=2)], at(5), at(12))] == [at(10)]
    assert delays.during([key(version=2)], at(12), at(60)) == ()


def test_a_catalogue_that_no_pool_needs_any_more_delays_nothing() -> None:
    delays = failed(key(name="gone"), key())

    (one,) = delays.during([key()], at(1), at(2))

    assert one.what == "EC2/DescribeInstanceTypes for EC2NodeClass/default"
    assert len(delays.during([key(), key(name="gone")], at(1), at(3))) == 1
