"""Three replicas of the controller, each with its own way to the API server, of which the leader is lost."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Final

from tests.real.kubernetes.faults import Fault
from tests.real.system.checkpoint import Checkpoint
from tests.real.system.cluster import ROOT
from tests.real.system.controller import TREENAIL, eventually
from tests.real.system.evidence import Witness
from tests.real.system.killable import BOOT_SECONDS, Grounds
from tests.real.system.killing import Killing
from tests.real.system.machine_clock import MachineClock
from tests.real.system.quick_lease import TIMING
from tests.real.system.scene import Scene, machines
from treenail.domain.leadership.lease import LeaseTiming

_COUNT: Final = 3
_LEASES: Final = "/leases"
_LEASE: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/karpenter-leader-election"
# What a takeover may take beyond the lease; where the lease is a short one, what else the machine does counts
# for more.
_BEYOND_SECONDS: Final = 3.0
_BEYOND_SHORT_SECONDS: Final = 10.0
_END_SECONDS: Final = 30.0
# A life begins with imports and with waiting for the lease. A call that is seen sooner was under way before.
_SILENT_SECONDS: Final = 0.5
_LOOK_EVERY: Final = 0.2
# Far more than any lease; certificates of an API server that has just begun are good for an hour before it.
_AHEAD: Final = timedelta(hours=1)
_BEHIND: Final = -timedelta(minutes=20)
_QUICK: Final = (sys.executable, "-m", "tests.real.system.quick_lease")


@dataclass(slots=True)
class Replica:
    """One replica: its scene, whose controller it is, and when (monotonic) each of its lives began."""

    name: str
    scene: Scene
    checkpoint: Checkpoint
    clock: MachineClock
    born: list[float] = field(default_factory=list)

    def start(self) -> None:
        """Begin a life. It is not waited for until it knows the cluster."""
        self.born.append(time.monotonic())
        self.scene.controller.start(wait=False)

    @property
    def identities(self) -> set[str]:
        """By what names it led, over all its lives."""
        return {line["identity"] for line in self.scene.controller.said("this replica leads")}

    def set_clock(self, off: timedelta) -> None:
        """Let its machine's clock be so far from the true time, and wait until it has noticed."""
        before = self._clock_steps()
        self.clock.set(off)
        eventually(lambda: self._clock_steps() > before, f"the clock of {self.name} was not set")

    def _clock_steps(self) -> int:
        return len(self.scene.controller.said("the clock of this machine was set"))

    def writes(self) -> list[tuple[float, str, str]]:
        """Return when, in which of its lives, it sent something that changes the cluster, and what."""
        asked = (one for one in self.checkpoint.asked() if one.is_write and _LEASES not in one.path)
        return [(one.at, self.life(one.at), f"{one.method} {one.path}") for one in asked]

    def life(self, at: float) -> str:
        """Return the life that a call at this time is of: one that has just begun cannot have made it."""
        return f"{self.name}/{sum(born + _SILENT_SECONDS <= at for born in self.born[1:]) + 1}"


class Replicas:
    """The three, and what is done to the one that leads. Each way returns once the next one leads."""

    def __init__(self, replicas: Sequence[Replica], timing: LeaseTiming) -> None:
        self.replicas = tuple(replicas)
        self.timing = timing

    def leader(self) -> Replica:
        """Return the one that the lease names, once there is one."""
        eventually(lambda: self._leading() is not None, "nobody leads", within=60)
        leading = self._leading()
        assert leading is not None
        return leading

    def _leading(self) -> Replica | None:
        plane = self.replicas[0].scene.cluster.plane
        holder = plane.request("GET", _LEASE)[1].get("spec", {}).get("holderIdentity", "")
        there = [r for r in self.replicas if r.scene.controller.running and holder in r.identities]
        return there[0] if there else None

    def kill(self) -> float:
        """End the leader as by `kill -9`; return how many seconds nobody led."""
        leader = self.leader()
        leader.scene.controller.kill()
        took = self._taken_over(leader)
        leader.start()
        return took

    def freeze(self) -> float:
        """Stop the leader for longer than its lease, and let it go on; it must end by itself."""
        leader = self.leader()
        leader.scene.controller.freeze()
        took = self._taken_over(leader)
        leader.scene.controller.thaw()
        self._ends(leader)
        leader.start()
        return took

    def cut_off(self) -> float:
        """Let the leader alone not reach the API server; it must end by itself before another leads."""
        leader = self.leader()
        with leader.checkpoint.fault(Fault(status=503)):
            leader.checkpoint.cut_watches()
            took = self._taken_over(leader)
            assert not leader.scene.controller.running, "it lives though it lost its lease"
        self._ends(leader)
        leader.start()
        return took

    def set_clock(self) -> float:
        """Set the leader's clock forward, back behind the true time, and right; it must lead throughout."""
        leader = self.leader()
        for off in (_AHEAD, _BEHIND, timedelta(0)):
            leader.set_clock(off)
            _stays(lambda: self._leading() is leader, f"{leader.name} leads", self.timing.lease + 1)
        return 0.0

    def kill_ahead(self) -> float:
        """End a leader whose clock is ahead, so that its lease may seem to be renewed in the future."""
        leader = self.leader()
        leader.set_clock(_AHEAD)
        # Until it has renewed its lease.
        time.sleep(self.timing.renew_every)
        leader.scene.controller.kill()
        leader.clock.set_right()
        took = self._taken_over(leader)
        leader.start()
        return took

    def _taken_over(self, lost: Replica) -> float:
        return eventually(
            lambda: self._leading() not in (None, lost),
            lambda: f"nobody took over from {lost.name}",
            within=self.timing.lease + (_BEYOND_SHORT_SECONDS if self.timing is TIMING else _BEYOND_SECONDS),
        )

    def _ends(self, replica: Replica) -> None:
        eventually(lambda: not replica.scene.controller.running, f"{replica.name} lives", within=_END_SECONDS)
        assert replica.scene.controller.said("is lost"), replica.scene.controller.last_lines()
        replica.scene.controller.kill()

    # --- what must hold

    def expect_one_at_a_time(self) -> int:
        """Check that none began anything after another had: to the API server, EC2, IAM or SQS.

        Return how many lives of replicas acted.
        """
        lives = [write for replica in self.replicas for write in replica.writes()]
        by_name = {replica.name: replica for replica in self.replicas}
        changes = self.replicas[0].scene.lab.changes()
        lives += [(at, by_name[name].life(at), action) for at, name, action in changes]
        turns = [(life, list(calls)) for life, calls in groupby(sorted(lives), key=lambda call: call[1])]
        told = "\n".join(f"{life}: {len(calls)}, from {calls[0]} to {calls[-1]}" for life, calls in turns)
        assert len(turns) == len({life for life, _ in turns}), f"two acted at once:\n{told}"
        return len(turns)


class Losing(Killing):
    """A cluster whose leader is lost again and again, seen through whichever replica leads."""

    def __init__(self, replicas: Replicas, folder: Path) -> None:
        self.replicas = replicas
        leader = replicas.leader()
        super().__init__(leader.scene, leader.checkpoint, folder)

    def witnesses(self) -> Mapping[str, Witness]:
        return {replica.name: replica for replica in self.replicas.replicas}

    def follow(self) -> None:
        """Look through the replica that leads now."""
        leader = self.replicas.leader()
        self.scene, self.checkpoint = leader.scene, leader.checkpoint

    def delete_claim(self) -> None:
        """Have the machine of a claim leave, which runs by then, and another bought in its place."""
        claim = self.scene.cluster.claims()[0]
        self.scene.cluster.delete(claim["apiVersion"], claim["kind"], claim["metadata"]["name"])
        self._bought += 1


def _stays(holds: Callable[[], bool], what: str, seconds: float) -> None:
    """Look again and again whether something holds for so long.

    Raises:
        AssertionError: it did not, at some time.
    """
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert holds(), f"not any more: {what}"
        time.sleep(_LOOK_EVERY)


@contextmanager
def losing(grounds: Grounds, *, quick: bool, **env: str) -> Iterator[Losing]:
    """Have three replicas, and machines that join. At the end all must go by itself."""
    lab = grounds.lab
    lab.reset()
    timing, program = (TIMING, _QUICK) if quick else (LeaseTiming(), (TREENAIL,))
    with ExitStack() as opened:
        replicas: list[Replica] = []
        for number in range(_COUNT):
            folder = grounds.folder / f"replica-{number}"
            folder.mkdir()
            checkpoint = opened.enter_context(Checkpoint(grounds.plane, folder))
            replicas.append(_replica(grounds, checkpoint, f"replica-{number}", program, env))
        scene = replicas[0].scene
        scene.cluster.install()
        opened.callback(scene.cluster.clear)
        for replica in replicas:
            opened.callback(replica.scene.controller.__exit__)
            replica.start()
        for replica in replicas:
            replica.scene.controller.wait()
        opened.enter_context(machines(scene, boot_seconds=BOOT_SECONDS))
        there = Losing(Replicas(replicas, timing), grounds.folder)
        there.begin()
        yield there
        there.follow()
        there.expect_nothing_left()
        there.replicas.expect_one_at_a_time()
    lab.check()


def _replica(
    grounds: Grounds, checkpoint: Checkpoint, name: str, program: Sequence[str | Path], env: dict[str, str]
) -> Replica:
    clock = MachineClock(checkpoint.kubeconfig.parent)
    scene = Scene(
        grounds.plane,
        grounds.lab,
        grounds.jaeger,
        program=program,
        KUBECONFIG=str(checkpoint.kubeconfig),
        DISABLE_LEADER_ELECTION="false",
        # A dry run of CreateFleet would be taken for the launch in which the leader is to be lost.
        DISABLE_DRY_RUN="true",
        AWS_SDK_UA_APP_ID=name,
        **clock.env,
        PYTHONPATH=f"{ROOT / '.dev'}:{ROOT}",
        **env,
    )
    return Replica(name, scene, checkpoint, clock)
