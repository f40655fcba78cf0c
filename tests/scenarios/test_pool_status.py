from __future__ import annotations

from tests.scenarios.watching import example
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.resources import total
from treenail.domain.status.pool_usage import PoolUsage

POOL = ObjectRef("Provisioner", "default")


def test_a_pool_shows_what_its_machines_have_until_they_go() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(example("001-node-selector"))
        rehearsal.run("5m")
        claims = rehearsal.claims()
        assert len(claims) == 2
        shown = rehearsal.cluster.usage(POOL)
        assert shown is not None
        assert (shown.nodes, shown.resources) == (2, total(node.capacity for node in rehearsal.nodes()))

        rehearsal.scale("inflate", 0)
        rehearsal.run("5m")
        assert rehearsal.cluster.usage(POOL) == PoolUsage()


def test_the_status_of_a_pool_is_written_a_few_times_however_many_pods_come() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(example("001-inflate"))
        written: list[PoolUsage] = []
        write = rehearsal.cluster.set_usage

        def noting(about: ObjectRef, usage: PoolUsage) -> None:
            written.append(usage)
            write(about, usage)

        rehearsal.cluster.set_usage = noting  # type: ignore[method-assign]
        for replicas in range(5, 205, 5):
            rehearsal.scale("inflate", replicas)
            rehearsal.run(1)
        rehearsal.run("5m")

        assert rehearsal.running() == 200
        assert 1 < len(written) <= 15
        assert written[-1].nodes == len(rehearsal.nodes())


def test_after_a_restart_a_status_that_is_right_is_left_as_it_is() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(example("001-inflate"))
        rehearsal.run("5m")
        shown = rehearsal.cluster.usage(POOL)

        rehearsal.crash()
        rehearsal.restart()
        rehearsal.run("1m")

        assert rehearsal.cluster.usage(POOL) == shown
