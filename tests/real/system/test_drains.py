"""What becomes of the pods of nodes that go, at a real eviction API: all cases at once, each on its node."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.system.drain_cases import CASES
from tests.real.system.draining import Draining, Recorder
from tests.real.system.scene import Scene, machines

# The API server cuts times to whole seconds, and so do grace periods.
SOONER = 1.5


@pytest.fixture(scope="module")
def drained(
    control_plane: ControlPlane, lab_process: Lab, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Draining]:
    lab_process.reset()
    # What we terminate ourselves is announced too, and is no part of this.
    lab_process.state_events(on=False)
    with Recorder(control_plane, tmp_path_factory.mktemp("drains")) as recorder:
        scene = Scene(control_plane, lab_process, None, KUBECONFIG=str(recorder.kubeconfig))
        scene.cluster.install()
        draining = Draining(scene, recorder, CASES)
        try:
            with scene.controller, machines(scene, boot_seconds=0.2):
                draining.set_up()
                draining.begin()
                draining.finish()
                yield draining
        finally:
            draining.clear()
            scene.cluster.clear()
    lab_process.check()


@pytest.mark.parametrize("name", CASES)
def test_pods_of_a_node_that_goes(name: str, drained: Draining, note: Callable[[str, str], None]) -> None:
    case, done = CASES[name], drained.calls(name)
    note("calls", ", ".join(f"{call.at:.1f} s {call.verb} {call.pod}" for call in done))
    freed = [call.at for call in done if call.verb == "free"]
    made = {call.about: call for call in done if call.verb != "free"}

    assert sorted(made) == sorted(call.about for call in case.due)
    for due in case.due:
        call = made[due.about]
        assert call.at >= due.at - SOONER
        # All of it, or what the time since has left.
        assert (call.grace or 0) <= (due.grace or 0)
    if case.in_turns:
        assert list(made) == [call.about for call in case.due]
    if case.gone is None:
        assert freed == []
        assert drained.left[name] == case.left
    else:
        assert freed
        assert freed[0] >= case.gone - SOONER
