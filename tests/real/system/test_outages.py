"""One controller lives through one outage after the other, while a Deployment is scaled up and down.

Every pod needs a machine of its own, so that what is bought can be held against what is wanted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import pytest

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system import outages
from tests.real.system.behind_proxy import behind_proxy
from tests.real.system.controller import eventually
from tests.real.system.loners import DEPLOYMENT
from tests.real.system.outages import Outage, Surroundings
from tests.real.system.scene import Scene
from tests.real.system.swings import Swings
from treenail.adapters.kubernetes.resources import MACHINE, NODE_CLAIM, WATCHED
from treenail.domain.telemetry.metrics import SOLVER_RESTARTS, SPANS_DROPPED

AT_REST: Final = 2
SIZES: Final = (4, 1, 3, 5)
# Claims are listed for garbage too, now and then, and each such list is tried up to four times.
LISTED_FOR_GARBAGE: Final = (NODE_CLAIM.path(), MACHINE.path())
GARBAGE_SECONDS: Final = 120.0
TRIES: Final = 4
DECIDED: Final = "decided on pods"
# What a busy machine adds to a tenth of a second.
SLACK: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An outage, and for how many seconds it lasts; where `quick` is None, with --soak alone.

    After it, no resource may have been listed more than `lists` times for its watch, and the log holds
    what it `says`; `says_late` where the outage lasted long enough.
    """

    outage: Outage
    quick: float | None
    soak: float = 60.0
    lists: int = 0
    says: tuple[str, ...] = ()
    says_late: tuple[str, ...] = ()


WATCHES: Final = ("watch interrupted", "watch goes on")
QUEUE: Final = ("cannot receive from the interruption queue", "receiving from the interruption queue again")
GONE: Final = ("the interruption queue does not exist",)
STEP: Final = ("launch step is tried again",)
CASES: Final = {
    # An API server that was away remembers no revision from before, and may not serve everything at once.
    "API server restarted": Case(outage=outages.api_server_restarted, quick=0, lists=3, says=WATCHES),
    "API server killed": Case(outage=outages.api_server_killed, quick=None, lists=3, says=WATCHES),
    "API server silent": Case(outage=outages.api_server_silent, quick=None, lists=1, says_late=STEP),
    "etcd restarted": Case(outage=outages.etcd_restarted, quick=0, lists=3),
    # So are they at the beginning of each of the next four.
    "watches cut every second": Case(outage=outages.watches_cut, quick=None, says=WATCHES),
    "410 Gone, once": Case(outage=outages.history_forgotten, quick=1, lists=3, says=WATCHES),
    "410 Gone, again and again": Case(outage=outages.watches_gone, quick=None, lists=9, says=WATCHES),
    "429 to seven of ten": Case(outage=outages.too_many_requests, quick=3, says=WATCHES),
    "5xx to half of all": Case(outage=outages.server_errors, quick=3, says=WATCHES),
    "AWS away": Case(outage=outages.aws_away, quick=10, says=STEP, says_late=QUEUE),
    "answers of EC2 lost": Case(outage=outages.aws_answers_lost, quick=None, says=STEP),
    "EC2 throttles": Case(outage=outages.ec2_throttles, quick=None, soak=20.0),
    "EC2 breaks in bursts": Case(outage=outages.ec2_breaks, quick=None, soak=20.0),
    "EC2 slow": Case(outage=outages.ec2_slow, quick=None, soak=20.0),
    "instances hidden": Case(outage=outages.instances_hidden, quick=None, soak=20.0),
    "templates deleted": Case(outage=outages.templates_deleted, quick=None, soak=20.0),
    "no templates": Case(outage=outages.no_templates, quick=None, soak=20.0, says=STEP),
    "profile hidden": Case(outage=outages.profile_hidden, quick=None, soak=10.0),
    "queue gone": Case(outage=outages.queue_gone, quick=None, soak=20.0, says=GONE),
    "collector away": Case(outage=outages.collector_away, quick=None),
    "collector silent": Case(outage=outages.collector_silent, quick=None),
}


class World:
    """Everything there is, and what must hold of it."""

    def __init__(self, scene: Scene, around: Surroundings) -> None:
        self.scene = scene
        self.around = around

    def settled(self, pods: int = AT_REST) -> bool:
        """Return whether so many pods run, each on a machine of its own, and there is nothing else."""
        cluster, scene = self.scene.cluster, self.scene
        assert scene.controller.running, scene.controller.last_lines()
        return cluster.running() == len(cluster.pods()) == pods and all(
            len(found) == pods for found in (cluster.nodes(), cluster.claims(), scene.instances())
        )

    def settle(self, within: float = 150.0) -> None:
        eventually(self.settled, self.summary, within=within)

    def summary(self) -> str:
        return f"{self.scene.summary()}\n{self.scene.controller.threads()}"

    def expect_watches(self, within: float = 60.0) -> None:
        eventually(lambda: self.around.proxy.watches == len(WATCHED), "not all is watched", within=within)

    def recovery(self, pods: int, within: float = 120.0) -> dict[str, float]:
        """Wait until all is watched, and so many pods are bound and run; return after how many seconds each.

        Pods run when the other parts have recovered too, each in its own time.
        """
        cluster, begun = self.scene.cluster, time.monotonic()
        signs: dict[str, Callable[[], bool]] = {
            "watching": lambda: self.around.proxy.watches == len(WATCHED),
            "bound": lambda: cluster.bound() == pods == len(cluster.pods()),
            "running": lambda: cluster.running() == pods,
        }
        seen: dict[str, float] = {}

        def all_seen() -> bool:
            for sign, holds in signs.items():
                if sign not in seen and holds():
                    seen[sign] = time.monotonic() - begun
            return len(seen) == len(signs)

        eventually(all_seen, lambda: f"{seen}\n{self.summary()}", within=within)
        return seen

    def asked_since(self, moment: float) -> str:
        """Return how many lists, writes and other requests there were since a moment, for a table."""
        asked = self.around.proxy.asked(since=moment)
        lists, writes = sum(a.is_list for a in asked), sum(a.is_write for a in asked)
        return f"{lists} | {writes} | {len(asked) - lists - writes}"

    def first_claim(self, since: float) -> float:
        """Return when a claim was first written, `since` a moment of the monotonic clock, in Unix time."""
        written = (
            a
            for a in self.around.proxy.asked(since=since)
            if (a.method, a.path) == ("POST", NODE_CLAIM.path())
        )
        return next(written).at + time.time() - time.monotonic()

    def expect_bought_once(self) -> None:
        """Every instance there ever was is that of one claim."""
        launched = self.scene.controller.said("launched nodeclaim")
        assert len({line["nodeclaim"] for line in launched}) == len(launched)
        ids = sorted(line["provider_id"].rpartition("/")[2] for line in launched)
        assert ids == self.scene.bought()


@pytest.fixture(scope="module")
def world(
    control_plane: ControlPlane,
    lab_process: Lab,
    jaeger: Jaeger,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("outages")
    parts = control_plane, lab_process, jaeger
    with behind_proxy(*parts, folder, replicas=AT_REST, OTEL_EXPORTER_OTLP_TIMEOUT="2") as (scene, proxy, _):
        yield World(scene, Surroundings(plane=control_plane, proxy=proxy, lab=lab_process, jaeger=jaeger))


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_lost_nor_bought_twice_nor_listed_over_and_over(
    name: str, world: World, pytestconfig: pytest.Config, note: Callable[[str, str], None]
) -> None:
    case, soak = CASES[name], pytestconfig.getoption("--soak")
    if not soak and case.quick is None:
        pytest.skip("with --soak alone")
    seconds = case.soak if soak or case.quick is None else case.quick
    scene, proxy = world.scene, world.around.proxy
    world.settle()
    world.expect_watches()
    bought, lines = len(scene.bought()), len(list(scene.controller.lines()))
    every = max(1.0, seconds / 8)
    swings = Swings(scene.cluster, DEPLOYMENT, SIZES, at_first=AT_REST, every=every)
    since = time.monotonic()

    with swings.going():
        time.sleep(0.5)
        case.outage(world.around, seconds)
    over = time.monotonic()
    after = world.recovery(SIZES[-1])
    scene.cluster.scale(DEPLOYMENT, AT_REST)
    world.settle()

    said = list(scene.controller.lines())[lines:]
    lists = proxy.lists(since=since)
    bought = len(scene.bought()) - bought
    times = f"{over - since:.1f} | {after['watching']:.1f} | {after['bound']:.1f} | {after['running']:.1f}"
    note("outage", f"{name} | {times} | {world.asked_since(over)} | {sum(lists.values())}")
    note("swings", f"{swings.taken} taken; bought {bought} of {swings.most_new}; {len(said)} lines of log")
    note("log", str(Counter(line.get("message", "?") for line in said)))
    note("lists", str(lists))
    assert scene.controller.running
    assert swings.taken > 1
    assert bought <= swings.most_new
    world.expect_bought_once()
    assert too_often_listed(lists, case.lists, seconds=time.monotonic() - since) == {}
    expected = (*case.says, *(case.says_late if soak else ()))
    assert not [text for text in expected if not any(text in line.get("message", "") for line in said)]


def too_often_listed(lists: Counter[str], most: int, *, seconds: float) -> dict[str, int]:
    """Return which resources were listed more than `most` times, and how often."""
    for_garbage = TRIES * (1 + int(seconds / GARBAGE_SECONDS))
    return {
        path: count
        for path, count in sorted(lists.items())
        if count > most + (for_garbage if path in LISTED_FOR_GARBAGE else 0)
    }


@pytest.mark.parametrize("how", ["silent", "away"])
def test_a_collector_that_does_not_answer_delays_no_launch_and_what_it_misses_is_counted(
    how: str, world: World, pytestconfig: pytest.Config, note: Callable[[str, str], None]
) -> None:
    if how == "away" and not pytestconfig.getoption("--soak"):
        pytest.skip("with --soak alone")
    scene, jaeger = world.scene, world.around.jaeger
    world.settle()
    losses = scene.controller.metric(SPANS_DROPPED.name)
    decisions = len(scene.controller.said(DECIDED))
    since = time.monotonic()
    (jaeger.stop_part if how == "away" else jaeger.pause_part)()
    try:
        scene.cluster.scale(DEPLOYMENT, AT_REST + 1)
        eventually(lambda: scene.cluster.running() == AT_REST + 1, world.summary)
        eventually(lambda: scene.controller.metric(SPANS_DROPPED.name) > losses, world.summary)
    finally:
        (jaeger.start_part if how == "away" else jaeger.resume_part)()
    decided = scene.controller.said(DECIDED)[decisions]
    delay = world.first_claim(since) - datetime.fromisoformat(decided["time"]).timestamp()
    note("seconds from decision to claim", f"{delay:.3f}")

    scene.cluster.scale(DEPLOYMENT, AT_REST)
    world.settle()
    # A decision waits 0.2 s for its trace to be out, and no longer.
    assert delay < 0.2 + SLACK
    world.expect_bought_once()


def test_nothing_is_left_once_nothing_is_wanted(world: World) -> None:
    world.settle()
    world.scene.cluster.scale(DEPLOYMENT, 0)

    eventually(lambda: world.settled(0), world.summary, within=120)
    world.expect_bought_once()
    assert not world.scene.controller.said("the process fails")
    assert not world.scene.controller.metric(SOLVER_RESTARTS.name)
