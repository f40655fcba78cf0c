"""A controller to be killed, in a cluster that it reaches by way of a checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.checkpoint import Checkpoint
from tests.real.system.controller import eventually
from tests.real.system.scene import Scene, machines

# A message that nobody has dealt with comes again after half a minute; a launch whose call cannot be made
# again is looked for after one.
WITHIN: Final = 120.0
BOOT_SECONDS: Final = 1.0
# A call to EC2 is held for two seconds, and a request until somebody has seen it.
_LOOK_EVERY: Final = 0.02


# Connections that are cut when a process is killed are no fault of a test.
CONNECTIONS_ARE_CUT: Final = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What a controller that is killed needs around it, and a folder for its checkpoint."""

    plane: ControlPlane
    lab: Lab
    jaeger: Jaeger
    folder: Path


@contextmanager
def killable(grounds: Grounds, **env: str) -> Iterator[tuple[Scene, Checkpoint]]:
    """Have the controller, and machines that join. At the end nothing in AWS may be wrong."""
    lab = grounds.lab
    lab.reset()
    with Checkpoint(grounds.plane, grounds.folder) as checkpoint:
        # A dry run of CreateFleet would be taken for the launch at which the controller is to be killed.
        own = {"KUBECONFIG": str(checkpoint.kubeconfig), "DISABLE_DRY_RUN": "true"}
        scene = Scene(grounds.plane, lab, grounds.jaeger, **own, **env)
        scene.cluster.install()
        try:
            with scene.controller, machines(scene, boot_seconds=BOOT_SECONDS):
                yield scene, checkpoint
        finally:
            scene.cluster.clear()
    lab.check()


def come_to(reached: Callable[[], bool], scene: Scene, what: str) -> None:
    """Wait until a moment is reached, and no longer; `what` names it where it never comes."""
    deadline = time.monotonic() + WITHIN
    while not reached():
        assert time.monotonic() < deadline, f"it never came to this: {what}\n{scene.summary()}"
        time.sleep(_LOOK_EVERY)


def expect_nothing(scene: Scene) -> None:
    """Wait until there is no machine, nor anything of one."""
    cluster = scene.cluster
    eventually(
        lambda: not (cluster.pods() or cluster.nodes() or cluster.claims() or scene.instances()),
        scene.summary,
        within=WITHIN,
    )
