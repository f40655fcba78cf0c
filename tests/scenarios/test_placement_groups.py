from __future__ import annotations

from collections import Counter

from tests.scenarios.manifests import Manifest, changed, deployment, node_class, node_pool, text
from tests.scenarios.watching import told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model import labels

IN_GROUP = changed(node_class(), "spec.placementGroupSelector", {"name": "close"})
PARTITION = "karpenter.k8s.aws/placement-group-partition"
GROUP = "karpenter.k8s.aws/placement-group-id"


def spread_over_partitions(replicas: int) -> Manifest:
    made = deployment(replicas=replicas, cpu="3")
    made["spec"]["template"]["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": PARTITION,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
    return made


def test_nodes_say_in_which_group_they_are_and_in_which_partition() -> None:
    with Rehearsal(seed=1) as rehearsal:
        group = rehearsal.ec2.placement_groups.make("close", partitions=3)
        rehearsal.apply(text(IN_GROUP, node_pool(), spread_over_partitions(6)))
        rehearsal.run_until(lambda: rehearsal.running() == 6, within="3m")

        by_node = {node.name: node.labels for node in rehearsal.nodes()}
        assert {known[GROUP] for known in by_node.values()} == {group.id}
        pods = Counter(by_node[pod.node_name][PARTITION] for pod in rehearsal.pods())
        assert pods == {"1": 2, "2": 2, "3": 2}
        assert all(claim.labels[PARTITION] in "123" for claim in rehearsal.claims())

        rehearsal.run("30m")
        assert {record.cause for record in rehearsal.history()} == {None}


def test_nodes_that_nobody_pins_are_in_all_partitions() -> None:
    pool = node_pool()
    pool["spec"]["template"]["spec"]["requirements"].append(
        {"key": "karpenter.k8s.aws/instance-cpu", "operator": "Lt", "values": ["5"]}
    )
    with Rehearsal(seed=2) as rehearsal:
        rehearsal.ec2.placement_groups.make("close", partitions=3)
        rehearsal.apply(text(IN_GROUP, pool, deployment(replicas=30, cpu="3")))
        rehearsal.run_until(lambda: rehearsal.running() == 30, within="3m")

        assert {node.labels[PARTITION] for node in rehearsal.nodes()} == {"1", "2", "3"}


def test_pods_that_ask_for_a_group_get_no_node_outside_of_it() -> None:
    asking = deployment(replicas=1, node_selector={GROUP: "pg-1"})
    with Rehearsal(seed=3) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), asking))
        rehearsal.run("3m")

        assert rehearsal.claims() == ()
        assert rehearsal.history() == ()


def test_a_spread_group_holds_seven_in_a_zone_and_others_are_bought_outside_of_it() -> None:
    pinned = {"topology.kubernetes.io/zone": "us-east-1a"}
    pool = node_pool(families=["c5"], capacity_types=["on-demand"])
    pool["spec"]["template"]["spec"]["requirements"].append(
        {"key": "karpenter.k8s.aws/instance-size", "operator": "In", "values": ["xlarge", "2xlarge"]}
    )
    outside = changed(node_class(), "metadata.name", "outside")
    other = node_pool("other", families=["c5"], capacity_types=["on-demand"])
    other["spec"]["template"]["spec"]["nodeClassRef"]["name"] = "outside"
    one_a_node = {"matchLabels": {"app": "web"}}
    crowd = deployment(replicas=9, cpu="3", node_selector={**pinned, "karpenter.sh/nodepool": "default"})
    crowd["spec"]["template"]["spec"]["affinity"] = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "kubernetes.io/hostname", "labelSelector": one_a_node}
            ]
        }
    }
    with Rehearsal(seed=4) as rehearsal:
        rehearsal.ec2.placement_groups.make("close", spread=True)
        rehearsal.apply(text(IN_GROUP, pool, crowd))
        rehearsal.run("2m")
        assert len(rehearsal.ec2.live()) == 7
        short = told(rehearsal, "CapacityRanOut")
        assert short

        elsewhere = deployment("elsewhere", 1, cpu="3", node_selector={**pinned, labels.NODEPOOL: "other"})
        rehearsal.apply(text(outside, other, elsewhere))
        rehearsal.run_until(lambda: rehearsal.running() == 8, within="3m")
