from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tests.adapters.fake.cluster.builders import a_deployment, a_node, a_pod, a_spec
from tests.adapters.fake.cluster.rig import Rig
from tests.adapters.fake.cluster.rules import Rules
from treenail.domain.model.labels import HOSTNAME, ZONE
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import (
    Expression,
    HostPort,
    LabelSelector,
    NodeAffinity,
    Pod,
    PodAffinityTerm,
    PodSpec,
    TopologySpread,
)
from treenail.domain.model.requirements import Operator
from treenail.domain.model.taints import Effect, Taint, Toleration, TolerationOperator

APPS = ("api", "db", "web", "job")
KEYS = (ZONE, HOSTNAME, "rack")
ODD = Taint("odd", Effect.NO_SCHEDULE)


class Draw:
    """Draws nodes and workloads, few enough of everything that constraints meet."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def often(self, share: float) -> bool:
        return self.dice.random() < share

    def selector(self) -> LabelSelector | None:
        apps = tuple(sorted(self.dice.sample(APPS, self.dice.randint(1, 2))))
        return None if self.often(0.05) else LabelSelector((), (Expression("app", Operator.IN, apps),))

    def spread(self) -> TopologySpread:
        return TopologySpread(
            self.dice.choice(KEYS),
            self.dice.randint(1, 2),
            hard=self.often(0.9),
            selector=self.selector(),
            min_domains=self.dice.choice((None, None, 2, 3)),
            honor_node_affinity=self.often(0.7),
            honor_node_taints=self.often(0.3),
            match_label_keys=("version",) if self.often(0.3) else (),
        )

    def term(self) -> PodAffinityTerm:
        return PodAffinityTerm(
            self.dice.choice(KEYS),
            self.selector(),
            namespaces=self.dice.choice(((), (), ("prod",), ("default", "prod"))),
            namespace_selector=self.dice.choice(
                (None, None, LabelSelector(), LabelSelector((("team", "a"),)))
            ),
            anti=self.often(0.6),
            weight=None if self.often(0.9) else 10,
        )

    def spec(self) -> PodSpec:
        only = Expression(ZONE, Operator.IN, tuple(sorted(self.dice.sample("abc", 2))))
        fields: dict[str, Any] = {
            "spread": tuple(self.spread() for _ in range(self.dice.choice((0, 0, 1, 2)))),
            "pod_affinity": tuple(self.term() for _ in range(self.dice.choice((0, 0, 1, 2)))),
            "host_ports": (HostPort(80),) if self.often(0.1) else (),
            "node_affinity": NodeAffinity(required=((only,),) if self.often(0.3) else ()),
            "tolerations": (Toleration("odd", TolerationOperator.EXISTS),) if self.often(0.3) else (),
        }
        return a_spec(self.dice.choice(("100m", "500m", "1")), "1Mi", grace_seconds=20, **fields)

    def labels(self, app: str) -> dict[str, str]:
        return {"app": app, "version": self.dice.choice("12")}

    def node_labels(self, name: str) -> dict[str, str]:
        there = {ZONE: self.dice.choice("abc"), "rack": self.dice.choice("12"), HOSTNAME: name}
        return {key: value for key, value in there.items() if not self.often(0.1)}


class Play:
    """Two minutes of a cluster in which everything changes that topologies look at."""

    def __init__(self, seed: int) -> None:
        self.draw = Draw(seed)
        self.rig = Rig(seed=seed)
        self.bindings = 0
        self._nodes = 0
        self._watch_bindings()

    def _watch_bindings(self) -> None:
        def look(change: Any) -> None:
            before, pod = change.before, change.after
            if isinstance(before, Pod) and isinstance(pod, Pod) and pod.node_name and not before.node_name:
                self.bindings += 1
                broken = Rules(self.rig.cluster, pod.uid).broken(pod, pod.node_name)
                assert not broken, f"{pod.key} is bound to {pod.node_name} against {broken}"

        self.rig.cluster.on_change(look)

    def run(self) -> None:
        self.rig.cluster.apply(Namespace(name="prod", labels={"team": "a"}), Namespace(name="default"))
        for _ in range(5):
            self.add_node()
        for app in APPS:
            self.add_deployment(app)
        for _ in range(25):
            self.rig.run(self.draw.dice.uniform(0, 3))
            self.something_happens()
        self.rig.run(60)

    def something_happens(self) -> None:
        events: list[Callable[[], object]] = [
            self.add_node,
            self.change_node,
            self.add_pod,
            self.change_pod,
            self.scale,
            self.scale,
            partial(self.add_deployment, self.draw.dice.choice(APPS)),
            partial(
                self.rig.cluster.apply, Namespace(name="prod", labels={"team": self.draw.dice.choice("ab")})
            ),
        ]
        self.draw.dice.choice(events)()

    def add_node(self) -> None:
        name = f"n-{self._nodes}"
        self._nodes += 1
        taints = (ODD,) if self.draw.often(0.2) else ()
        self.rig.cluster.apply(a_node(name, cpu="3", labels=self.draw.node_labels(name), taints=taints))

    def change_node(self) -> None:
        name = self.draw.dice.choice([node.name for node in self.rig.cluster.nodes()])
        if self.draw.often(0.3) and len(self.rig.cluster.nodes()) > 1:
            self.rig.cluster.delete("Node", name)
        elif self.draw.often(0.5):
            self.rig.cluster.patch_node(name, NodePatch(labels={"rack": self.draw.dice.choice("123")}))
        else:
            self.rig.cluster.patch_node(name, NodePatch(unschedulable=self.draw.often(0.5)))

    def add_deployment(self, app: str) -> None:
        replicas, namespace = self.draw.dice.randint(0, 4), "prod" if app == "db" else "default"
        made = a_deployment(app, replicas, spec=self.draw.spec(), namespace=namespace)
        labels = self.draw.labels(app)
        self.rig.cluster.apply(replace(made, template=replace(made.template, labels=labels)))

    def add_pod(self) -> None:
        name = f"pod-{self.rig.cluster.revision}"
        labels = self.draw.labels(self.draw.dice.choice(APPS))
        self.rig.cluster.apply(a_pod(name, spec=self.draw.spec(), labels=labels))

    def change_pod(self) -> None:
        pods = [pod for pod in self.rig.cluster.pods() if not pod.owners and pod.deleting_since is None]
        if pods:
            pod = self.draw.dice.choice(pods)
            if self.draw.often(0.5):
                self.rig.cluster.delete("Pod", pod.name)
            else:
                self.rig.cluster.apply(replace(pod, labels=self.draw.labels(self.draw.dice.choice(APPS))))

    def scale(self) -> None:
        app = self.draw.dice.choice(APPS)
        namespace = "prod" if app == "db" else "default"
        self.rig.cluster.scale(app, self.draw.dice.randint(0, 6), namespace=namespace)


@pytest.mark.seeds(quick=30, soak=2000)
def test_no_rule_is_broken_by_a_binding_and_no_pod_waits_that_could_go(seed: int) -> None:
    play = Play(seed)

    play.run()

    assert play.bindings
    for pod in play.rig.cluster.pods():
        if not pod.node_name:
            assert Rules(play.rig.cluster, pod.uid).open_to(pod) == [], pod.key
