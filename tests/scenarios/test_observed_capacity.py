from __future__ import annotations

from tests.scenarios.manifests import deployment, need, node_class, node_pool, text
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.node_classes import DEFAULT_KUBELET, NodeClass
from treenail.domain.model.resources import MEMORY

MIB = 2**20
# What the two DaemonSets of the rehearsal leave of it is between the two.
POD = "6200Mi"


def pool_of(*types: str) -> dict[str, object]:
    pool = node_pool(families=("m5",))
    pool["spec"]["template"]["spec"]["requirements"].append(need("node.kubernetes.io/instance-type", *types))
    return pool


def estimate(rehearsal: Rehearsal) -> int:
    """Return the memory that the catalogue says of m5.large to the node class there is."""
    (known,) = rehearsal.cluster.objects(NodeClass)
    types = rehearsal.ec2.instance_types(known, DEFAULT_KUBELET)
    return next(t.capacity[MEMORY] for t in types if t.name == "m5.large")


def nodes(rehearsal: Rehearsal) -> list[str]:
    """Return the types of all nodes there ever were, oldest first."""
    return [record.instance_type for record in rehearsal.history()]


def test_a_pod_that_just_fits_by_the_estimate_gets_a_node_of_that_type() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(
            text(node_class(), pool_of("m5.large", "m5.xlarge"), deployment(memory=POD, replicas=1))
        )

        rehearsal.run("5m")

        assert (nodes(rehearsal), rehearsal.running()) == (["m5.large"], 1)


def test_where_nodes_have_less_than_estimated_it_is_decided_right_the_second_time() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(
            text(node_class(), pool_of("m5.large", "m5.xlarge"), deployment(memory=POD, replicas=1))
        )
        rehearsal.ec2.set_memory("m5.large", 7577 * MIB - 900 * MIB)

        rehearsal.run("5m")

        assert rehearsal.running() == 1
        assert nodes(rehearsal) == ["m5.large", "m5.xlarge"]
        assert estimate(rehearsal) == 6677 * MIB


def test_what_the_first_node_taught_spares_those_who_come_later_the_detour() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), pool_of("m5.large", "m5.xlarge"), deployment(replicas=1)))
        rehearsal.ec2.set_memory("m5.large", 6677 * MIB)
        rehearsal.run("5m")

        rehearsal.apply(text(deployment("large", memory=POD, replicas=1)))
        rehearsal.run("5m")

        assert rehearsal.running() == 2
        assert nodes(rehearsal) == ["m5.large", "m5.xlarge"]


def test_where_nodes_have_more_than_estimated_more_is_put_on_the_next() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), pool_of("m5.large"), deployment(replicas=1)))
        rehearsal.ec2.set_memory("m5.large", 7577 * MIB + 300 * MIB)
        rehearsal.run("5m")

        rehearsal.apply(text(deployment("large", memory="6900Mi", replicas=1)))
        rehearsal.run("5m")

        assert rehearsal.running() == 2


def test_a_controller_that_starts_anew_is_taught_by_the_nodes_there_are() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), pool_of("m5.large", "m5.xlarge"), deployment(replicas=1)))
        rehearsal.ec2.set_memory("m5.large", 6677 * MIB)
        rehearsal.run("5m")

        rehearsal.crash()
        assert estimate(rehearsal) == 7577 * MIB
        rehearsal.restart()
        rehearsal.run("1m")
        assert estimate(rehearsal) == 6677 * MIB
        rehearsal.apply(text(deployment("large", memory=POD, replicas=1)))
        rehearsal.run("5m")

        assert nodes(rehearsal) == ["m5.large", "m5.xlarge"]


def test_where_all_types_have_less_than_estimated_every_pod_finds_a_place_in_the_end() -> None:
    with Rehearsal(seed=0) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=30, cpu="100m", memory="3Gi")))
        (known,) = rehearsal.cluster.objects(NodeClass)
        for one in rehearsal.ec2.instance_types(known, DEFAULT_KUBELET):
            rehearsal.ec2.set_memory(one.name, one.capacity[MEMORY] * 9 // 10)

        rehearsal.run("10m")

        assert rehearsal.running() == 30
        # No type is bought again and again for what does not fit it.
        assert len(nodes(rehearsal)) < 10
