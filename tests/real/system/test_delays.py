"""What delays a launch over real parts is named in the span that it delayed, as the collector has it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import pytest

from tests.real.kubernetes.faults import Asked, Fault
from tests.real.kubernetes.proxy import Proxy
from tests.real.lab.joiner import Joiner
from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.behind_proxy import behind_proxy
from tests.real.system.controller import eventually
from tests.real.system.loners import DEPLOYMENT
from tests.real.system.scene import SERVICE, Scene
from treenail.adapters.kubernetes.resources import NODE_CLAIM

PREFIX: Final = "treenail.delay."
# A batch is closed after a second; the first claim is refused then, and tried again after one more.
REFUSED_SECONDS: Final = 4.0
BOOT_SECONDS: Final = 63.0


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A controller that stands for election, between an API server and machines that can be disturbed."""

    scene: Scene
    proxy: Proxy
    joiner: Joiner
    jaeger: Jaeger

    def wait_for_claim(self) -> None:
        """Wait until there is a claim whose machine has not joined."""
        cluster = self.scene.cluster
        eventually(lambda: len(cluster.claims()) > len(cluster.nodes()), self.scene.summary)


Trouble: TypeAlias = Callable[[World], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A trouble, and what the event `delay` of a span must say: the cause, what waited, how long at least."""

    trouble: Trouble
    cause: str
    of: str
    seconds: float
    span: str = "launch"

    def told(self, world: World) -> list[dict[str, Any]]:
        """Return what the events with this cause say on all spans of that name."""
        tags = {f"{PREFIX}cause": self.cause}
        found = world.jaeger.find(service=SERVICE, operation=self.span, tags=tags)
        spans = [span for trace in found for span in trace["spans"] if span["operationName"] == self.span]
        logs = [{f["key"]: f["value"] for f in log["fields"]} for span in spans for log in span["logs"]]
        return [one for one in logs if one.get(f"{PREFIX}cause") == self.cause]

    def new(self, world: World, before: int) -> list[dict[str, Any]]:
        """Return those that say of what waited long enough, once there are more than `before`."""
        told = self.told(world)
        fit = [one for one in told if one[f"{PREFIX}of"].startswith(self.of)]
        return [one for one in fit if one[f"{PREFIX}seconds"] >= self.seconds] if len(told) > before else []


def fleet(**rule: Any) -> Trouble:
    """Return the trouble that calls of CreateFleet have by a rule of the laboratory."""

    @contextmanager
    def trouble(world: World) -> Iterator[None]:
        world.scene.lab.fault("ec2", "CreateFleet", **rule)
        yield

    return trouble


def claims_refused(status: int) -> Trouble:
    """Return the trouble that no new claim is written for some seconds."""

    @contextmanager
    def trouble(world: World) -> Iterator[None]:
        with world.proxy.fault(Fault(status=status, of=_new_claim, retry_after=1)):
            yield
            time.sleep(REFUSED_SECONDS)

    return trouble


@contextmanager
def killed(world: World) -> Iterator[None]:
    """The controller is killed while it waits for CreateFleet, and started anew."""
    world.scene.lab.fault("ec2", "CreateFleet", delay=8.0)
    yield
    world.wait_for_claim()
    time.sleep(1)
    world.scene.controller.kill()
    time.sleep(2)
    world.scene.controller.start()


@contextmanager
def lease_lost(world: World) -> Iterator[None]:
    """The controller does not reach the API server, until its lease is lost; its next life takes over."""
    world.scene.lab.fault("ec2", "CreateFleet", delay=5.0)
    yield
    controller = world.scene.controller
    world.wait_for_claim()
    with world.proxy.fault(Fault(status=503)):
        eventually(lambda: not controller.running, "it lives without its lease", within=30)
    assert controller.said("is lost"), controller.last_lines()
    controller.kill()
    controller.start()


@contextmanager
def slow_machines(world: World) -> Iterator[None]:
    """A machine takes more than a minute from its launch to its join."""
    usual, world.joiner.boot_seconds = world.joiner.boot_seconds, BOOT_SECONDS
    try:
        yield
        cluster = world.scene.cluster
        world.wait_for_claim()
        within = BOOT_SECONDS + 30
        eventually(lambda: len(cluster.claims()) == len(cluster.nodes()), world.scene.summary, within=within)
    finally:
        world.joiner.boot_seconds = usual


def _new_claim(asked: Asked) -> bool:
    return (asked.method, asked.path) == ("POST", NODE_CLAIM.path())


CASES: Final = {
    "EC2 throttles": Case(
        trouble=fleet(code="RequestLimitExceeded", status=503, times=3),
        cause="throttled",
        of="EC2/CreateFleet",
        seconds=0.1,
    ),
    "EC2 breaks": Case(
        trouble=fleet(code="InternalError", status=500, times=6),
        cause="no_answer",
        of="EC2/CreateFleet",
        seconds=0.5,
    ),
    "EC2 is slow": Case(
        trouble=fleet(delay=6.0),
        cause="slow_answer",
        of="EC2/CreateFleet",
        seconds=5,
        span="EC2/CreateFleet",
    ),
    "the controller is killed": Case(trouble=killed, cause="restart", of="controller", seconds=2),
    "the lease is lost": Case(trouble=lease_lost, cause="restart", of="controller", seconds=10),
    "a machine is slow to join": Case(
        trouble=slow_machines, cause="node_joins", of="i-", seconds=60, span="register"
    ),
    "the API server has too much to do": Case(
        trouble=claims_refused(429), cause="throttled", of="Kubernetes/POST", seconds=1
    ),
    "the API server does not answer": Case(
        trouble=claims_refused(503), cause="no_answer", of="Kubernetes/create claim", seconds=1
    ),
}


@pytest.fixture(scope="module")
def world(
    control_plane: ControlPlane,
    lab_process: Lab,
    jaeger: Jaeger,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("delays")
    parts = control_plane, lab_process, jaeger
    elected = behind_proxy(*parts, folder, replicas=1, DISABLE_LEADER_ELECTION="false")
    with elected as (scene, proxy, joiner):
        eventually(lambda: scene.cluster.running() == 1, scene.summary)
        yield World(scene=scene, proxy=proxy, joiner=joiner, jaeger=jaeger)


@pytest.mark.parametrize("name", CASES)
def test_the_cause_of_a_delay_is_named_in_the_span_that_it_delayed(
    name: str, world: World, note: Callable[[str, str], None]
) -> None:
    case, scene = CASES[name], world.scene
    before, pods = len(case.told(world)), len(scene.cluster.pods()) + 1

    with case.trouble(world):
        scene.cluster.scale(DEPLOYMENT, pods)
    eventually(lambda: scene.cluster.running() == pods, scene.summary)
    eventually(
        lambda: bool(case.new(world, before)),
        lambda: f"{before} before, now {case.told(world)}\n{scene.controller.last_lines()}",
        within=30,
    )

    note("delay", str(case.new(world, before)[-1]))
