"""A controller that reaches its API server through a proxy, with pods that need a node each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.real.kubernetes.proxy import Proxy
from tests.real.lab.joiner import Joiner
from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.loners import loners
from tests.real.system.scene import Scene, machines


@contextmanager
def behind_proxy(
    plane: ControlPlane, lab: Lab, jaeger: Jaeger, folder: Path, *, replicas: int, **settings: str
) -> Iterator[tuple[Scene, Proxy, Joiner]]:
    """Run the controller behind a proxy whose files are in `folder`, and ask for so many pods.

    Raises:
        AssertionError: at the end, the laboratory answered with an error nobody asked for.
    """
    lab.reset()
    with ExitStack() as opened:
        proxy = opened.enter_context(Proxy(plane, folder))
        scene = Scene(plane, lab, jaeger, KUBECONFIG=str(proxy.kubeconfig), **settings)
        scene.cluster.install()
        opened.callback(scene.cluster.clear)
        joiner = opened.enter_context(machines(scene, boot_seconds=0.2))
        opened.enter_context(scene.controller)
        profile = scene.lab.estate["instance_profile"]
        scene.cluster.apply(loners(lab.cluster, replicas=replicas, instanceProfile=profile))
        yield scene, proxy, joiner
    lab.check()
