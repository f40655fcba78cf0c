from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.adapters.fake.cluster.builders import (
    a_daemon_set,
    a_deployment,
    a_pod,
    a_spec,
    a_stateful_set,
    join,
    provider_id,
)
from tests.adapters.fake.cluster.rig import Rig
from treenail.adapters.api.workloads import Deployment, ReplicaSet, StatefulSet
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.domain.model.errors import PortError
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import HostPort, Pod
from treenail.domain.model.resources import total
from treenail.domain.model.taints import Effect, Taint, untolerated

OUT = Taint("out", Effect.NO_EXECUTE)
KEPT = Taint("kept", Effect.NO_SCHEDULE)


def history(seed: int) -> Rig:
    """A cluster after an hour in which much happened, and five minutes in which nothing did."""
    rig = Rig(seed=seed, settings=ClusterSettings(slow_stops=0.3))
    dice = random.Random(seed)
    rig.cluster.apply(
        a_deployment("web", 3),
        a_deployment("port", 2, spec=a_spec(cpu="100m", host_ports=(HostPort(80),))),
        a_stateful_set("db", 2, spec=a_spec(cpu="700m")),
        a_daemon_set("log"),
    )
    for step in range(80):
        something_happens(rig, dice, step)
        rig.run(dice.uniform(0, 45))
    rig.run(300)
    return rig


def something_happens(rig: Rig, dice: random.Random, step: int) -> None:
    def any_node() -> str:
        return dice.choice(rig.cluster.nodes()).name

    acts: list[Callable[[], object]] = [
        lambda: rig.cluster.scale("web", dice.randrange(12)),
        lambda: rig.cluster.scale("port", dice.randrange(6)),
        lambda: rig.cluster.scale("db", dice.randrange(6), kind="StatefulSet"),
        lambda: rig.cluster.apply(a_deployment("web", 4, spec=a_spec(cpu=f"{dice.randrange(1, 9)}00m"))),
        lambda: rig.cluster.apply(a_daemon_set("log", cpu=f"{dice.randrange(1, 9)}00m")),
        *[lambda: join(rig, f"n-{step}", cpu=str(dice.randrange(1, 5)), after=dice.uniform(0, 60))] * 4,
        lambda: join(rig, f"n-{step}", cpu=str(dice.randrange(1, 5)), taints=(KEPT,)),
        lambda: rig.cluster.leave(provider_id(any_node())),
        lambda: rig.cluster.delete("Node", any_node()),
        lambda: rig.cluster.patch_node(any_node(), NodePatch(add_taints=(OUT,))),
        lambda: rig.cluster.patch_node(any_node(), NodePatch(remove_taints=(OUT, KEPT))),
        lambda: rig.cluster.patch_node(any_node(), NodePatch(unschedulable=dice.random() < 0.5)),
        lambda: rig.cluster.delete("Pod", dice.choice(rig.cluster.pods()).name),
        lambda: rig.cluster.apply(a_pod(f"p-{step}", spec=a_spec(cpu=f"{dice.randrange(20)}00m"))),
        lambda: rig.cluster.apply(a_pod(f"p-{step}", node_name=any_node())),
    ]
    try:
        dice.choice(acts)()
    except (PortError, IndexError):
        return


@pytest.mark.seeds(quick=15, soak=500)
def test_a_cluster_left_alone_comes_to_rest_as_it_should_be(seed: int) -> None:
    rig = history(seed)

    before = rig.cluster.revision
    rig.run(200)

    assert rig.cluster.revision == before
    check_sizes(rig)
    check_places(rig)
    check_daemons(rig)
    check_waiting(rig)


def check_sizes(rig: Rig) -> None:
    made = Counter(pod.owner.uid for pod in rig.cluster.pods() if pod.owner and pod.active)
    for replica_set in rig.cluster.objects(ReplicaSet):
        assert made[replica_set.uid] == replica_set.replicas
    for stateful_set in rig.cluster.objects(StatefulSet):
        assert made[stateful_set.uid] == stateful_set.replicas
    for deployment in rig.cluster.objects(Deployment):
        sizes = [s.replicas for s in rig.cluster.objects(ReplicaSet) if s.name.startswith(deployment.name)]
        assert sum(sizes) == deployment.replicas


def check_places(rig: Rig) -> None:
    nodes = {node.name: node for node in rig.cluster.nodes()}
    for pod in rig.cluster.pods():
        assert pod.deleting_since is None
        assert not pod.node_name or pod.node_name in nodes
        assert pod.ready == pod.bound
    for node in nodes.values():
        here = [pod for pod in rig.cluster.pods() if pod.bound and pod.node_name == node.name]
        assert total(pod.spec.requests for pod in here).shortages(node.allocatable) == ()
        ports = Counter(port for pod in here for port in pod.spec.host_ports)
        assert all(count == 1 for count in ports.values())
        assert OUT not in node.taints or here == []


def check_daemons(rig: Rig) -> None:
    daemons = Counter(pod.node_name for pod in rig.cluster.pods() if pod.daemon and pod.node_name)
    assert all(count == 1 for count in daemons.values())
    waiting = sum(pod.daemon and not pod.node_name for pod in rig.cluster.pods())
    wanted = sum(untolerated(node.taints, ()) is None for node in rig.cluster.nodes())
    assert len(daemons) + waiting >= wanted


def check_waiting(rig: Rig) -> None:
    """Who waits, waits for a reason: no node there is would take the pod."""
    for pod in rig.cluster.pods():
        if pod.node_name or pod.daemon:
            continue
        assert pod.unschedulable_since is not None
        assert not any(would_take(rig, node.name, pod) for node in rig.cluster.nodes())


def would_take(rig: Rig, name: str, pod: Pod) -> bool:
    node = rig.node(name)
    here = [p for p in rig.cluster.pods() if p.bound and p.node_name == name]
    used = total((pod.spec.requests, *(p.spec.requests for p in here)))
    ports = {port for p in here for port in p.spec.host_ports}
    return not (
        node.unschedulable
        or untolerated(node.taints, pod.spec.tolerations)
        or any(used[resource] > node.allocatable.get(resource, 0) for resource in pod.spec.requests)
        or ports & set(pod.spec.host_ports)
    )


def test_equal_seeds_give_equal_histories() -> None:
    def told(seed: int) -> list[object]:
        rig = history(seed)
        return [rig.cluster.pods(), rig.cluster.nodes(), rig.cluster.events(), rig.cluster.revision]

    assert told(1) == told(1)
    assert told(1) != told(2)


def test_room_given_back_is_room_again() -> None:
    rig = Rig()
    join(rig, "n-0", cpu="4", ready_after=1.0)
    for _ in range(20):
        rig.cluster.apply(a_deployment("web", 4))
        rig.run(10)
        assert all(pod.ready for pod in rig.cluster.pods())
        rig.cluster.apply(replace(a_deployment("web", 4), replicas=0))
        rig.run(10)

    assert rig.cluster.pods() == ()
