from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.system.bystander import Bystander
from tests.real.system.migrating import WAYS, Migration
from tests.real.system.scene import Scene, machines

APPS = 20


@pytest.fixture
def soak(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--soak"):
        pytest.skip("with --soak alone")


@pytest.fixture
def scene(soak: None, control_plane: ControlPlane, lab: Lab) -> Iterator[Scene]:  # noqa: ARG001
    # What we terminate ourselves is announced too, and is no part of this.
    lab.state_events(on=False)
    there = Scene(control_plane, lab, None)
    there.cluster.install()
    try:
        with there.controller, machines(there, boot_seconds=1):
            yield there
    finally:
        there.cluster.clear()


@pytest.mark.seeds(quick=1, soak=len(WAYS))
def test_pods_move_from_a_provisioner_to_a_pool_within_their_budgets(
    seed: int, scene: Scene, note: Callable[[str, str], None]
) -> None:
    way = tuple(WAYS)[seed - 1]
    note("way", way)
    migration = Migration(scene, APPS)
    with Bystander(scene.cluster.plane, migration.least()) as bystander:
        migration.begin()
        took = migration.move(way)
        note("moved", f"{migration.pods} pods from {len(migration.old_nodes)} nodes in {took:.1f} s")
        migration.clear_away()
        migration.expect_moved()
        migration.expect_no_pod_wronged(bystander.witness)
    note("evicted", f"{len(bystander.witness.ended)}; fewest available {bystander.witness.lowest}")
