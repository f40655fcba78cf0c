"""A cluster in which the controller is killed again and again, and what must hold after each time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from tests.real.parts.control_plane import PARTS
from tests.real.system.checkpoint import Checkpoint
from tests.real.system.controller import eventually
from tests.real.system.evidence import Witness
from tests.real.system.killable import WITHIN, Grounds, come_to, expect_nothing, killable
from tests.real.system.moments import BUYING, Moment
from tests.real.system.scene import Scene
from tests.real.system.walkthrough import inflate
from tests.real.system.wholeness import expect_parents_of_all_spans, is_whole

# Every machine has four processors, so that each takes three of these pods and no other one.
PODS: Final = 6
MACHINES: Final = 2
_CPUS: Final = {"key": "karpenter.k8s.aws/instance-cpu", "operator": "In", "values": ["4"]}
_LAUNCH: Final = "treenail.sh/launch"


class Killing:
    """The walkthrough's pool, and another deployment for every kill."""

    def __init__(self, scene: Scene, checkpoint: Checkpoint, folder: Path) -> None:
        self.scene = scene
        self.checkpoint = checkpoint
        # Where the evidence of a test that fails is kept.
        self.folder = folder
        self._begun = time.time()
        self._rounds = 0
        # How many machines are bought by now, if nothing is bought twice.
        self._bought = 0
        self._pool, self._deployment = _manifests(scene)

    def begin(self) -> None:
        """Have the pool, without any pod."""
        self.scene.cluster.apply(self._pool)

    def witnesses(self) -> Mapping[str, Witness]:
        return {"controller": self}

    def count(self) -> None:
        """Count the machines anew: else what one try bought too much would fail all after it."""
        self._bought = len(self.scene.bought())

    def add_pods(self) -> None:
        """Have pods more, which need two machines of their own."""
        self._rounds += 1
        self._bought += MACHINES
        self.scene.cluster.apply(_named(self._deployment, f"round-{self._rounds}"))

    def come_to(self, moment: Moment) -> None:
        """Add pods, and wait until the moment has come."""
        reached = moment.arm(self.scene, self.checkpoint)
        self.add_pods()
        come_to(reached, self.scene, moment.name)

    def kill_at(self, moment: Moment) -> str:
        """Add pods, and kill the controller when the moment has come; return how things stood then."""
        self.come_to(moment)
        self.scene.controller.kill()
        return self.scene.cluster.summary()

    def lose_api_server_over_a_purchase(self) -> None:
        """Add pods, have the API server end while machines are bought for them, and wait until they are."""
        self.come_to(BUYING)
        self.scene.cluster.plane.kill_part("kube-apiserver")
        try:
            eventually(lambda: len(self.scene.bought()) == self._bought, "nothing was bought")
        except BaseException:
            # All tests after this one need it too.
            self.find_api_server()
            raise

    def find_api_server(self) -> None:
        """Have the API server again, and the other parts as if it had never been away.

        They would hear of it only after a minute, and take pods for broken meanwhile.
        """
        plane = self.scene.cluster.plane
        for part in PARTS[2:]:
            plane.stop_part(part)
        for part in PARTS[1:]:
            plane.start_part(part)

    # --- what must hold

    def expect_whole(self) -> float:
        """Wait until all pods run, on as many machines as they need; return for how long, in seconds."""
        scene = self.scene
        took = eventually(self._whole, scene.summary, within=WITHIN)
        self._expect_bought()
        assert self._calls_of_instances() == self._calls_of_claims()
        return took

    def _whole(self) -> bool:
        running = self.scene.cluster.running() == self._rounds * PODS
        return running and is_whole(self.scene, self._rounds * MACHINES)

    def _calls_of_instances(self) -> Counter[str]:
        """Return how many instances each call to CreateFleet bought, by its token."""
        tags = [{t["Key"]: t["Value"] for t in i["Tags"]} for i in self.scene.instances()]
        return Counter(of_one[_LAUNCH] for of_one in tags)

    def _calls_of_claims(self) -> Counter[str]:
        """Return how many claims say of each call that it is theirs."""
        claims = self.scene.cluster.claims()
        return Counter(c["metadata"]["annotations"][_LAUNCH].partition("/")[0] for c in claims)

    def expect_nothing_left(self) -> None:
        """Take all pods away, and wait until there is no machine either, nor anything of one."""
        scene = self.scene
        for number in range(1, self._rounds + 1):
            scene.cluster.scale(f"round-{number}", 0)
        expect_nothing(scene)
        self._expect_bought()

    def _expect_bought(self) -> None:
        bought = len(self.scene.bought())
        assert bought == self._bought, f"bought {bought}, not {self._bought}: {self.scene.summary()}"

    def expect_parents_of_all_spans(self) -> None:
        """Wait until no stored span names a parent that is not there, and every claim's decision is there."""
        expect_parents_of_all_spans(self.scene, since=self._begun)


@contextmanager
def killing(grounds: Grounds, **env: str) -> Iterator[Killing]:
    """Have the walkthrough's pool in a cluster, and the controller. At the end all must go by itself."""
    with killable(grounds, **env) as (scene, checkpoint):
        there = Killing(scene, checkpoint, grounds.folder)
        there.begin()
        yield there
        there.expect_nothing_left()


def _manifests(scene: Scene) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the walkthrough's pool and deployment, for the laboratory's cluster and these pods."""
    pool, deployment = yaml.safe_load_all(inflate(scene))
    pool["spec"]["requirements"].append(_CPUS)
    pool["spec"]["ttlSecondsAfterEmpty"] = 1
    deployment["spec"]["replicas"] = PODS
    return pool, deployment


def _named(deployment: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the same deployment under another name, with pods of its own."""
    spec = deployment["spec"]
    chosen = {"app": name}
    template = {**spec["template"], "metadata": {"labels": chosen}}
    spec = {**spec, "selector": {"matchLabels": chosen}, "template": template}
    return {**deployment, "metadata": {"name": name}, "spec": spec}
