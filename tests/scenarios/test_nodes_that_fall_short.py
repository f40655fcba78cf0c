"""Nodes that come up with less room for pods than their node class promises."""

from __future__ import annotations

import pytest

from tests.scenarios.manifests import Manifest, changed, deployment, need, node_class, node_pool, text
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.ec2 import Shortfall
from treenail.domain.model.resources import Resources

DISK, CPU, MEMORY, PODS, GPU = "ephemeral-storage", "cpu", "memory", "pods", "nvidia.com/gpu"
# The array of local disks that nobody builds: what is left is the root volume.
NO_ARRAY = Shortfall(at_most=Resources.parse({DISK: "17Gi"}))
RAID0 = changed(node_class(), "spec.instanceStorePolicy", "RAID0")


def pool_of(*families: str, types: tuple[str, ...] = ()) -> Manifest:
    pool = node_pool(families=families)
    if types:
        asked = pool["spec"]["template"]["spec"]["requirements"]
        asked.append(need("node.kubernetes.io/instance-type", *types))
    return pool


def one_pod(name: str = "web", **requests: str) -> Manifest:
    return asking(deployment(name, replicas=1), requests)


def asking(manifest: Manifest, requests: dict[str, str]) -> Manifest:
    container = manifest["spec"]["template"]["spec"]["containers"][0]
    amounts = {**container["resources"]["requests"], **requests}
    extended = {name: amount for name, amount in requests.items() if "/" in name}
    container["resources"] = {"requests": amounts, **({"limits": extended} if extended else {})}
    return manifest


def bought(rehearsal: Rehearsal) -> list[str]:
    """Return the types of all nodes there ever were, oldest first."""
    return [record.instance_type for record in rehearsal.history()]


def refused(rehearsal: Rehearsal) -> str:
    """Return what was told last of why a pod has no place."""
    events = [record.event for record in rehearsal.cluster.events()]
    return [event.message for event in events if event.message.startswith("Failed to schedule pod")][-1]


def rehearse(
    rehearsal: Rehearsal, *manifests: Manifest, short: tuple[Shortfall, ...], time: str = "10m"
) -> None:
    rehearsal.ec2.set_shortfalls(*short)
    rehearsal.apply(text(*manifests))
    rehearsal.run(time)


def test_one_node_is_enough_to_know_that_its_type_will_not_do() -> None:
    with Rehearsal(seed=1) as rehearsal:
        pool = pool_of("m5d", types=("m5d.large",))
        rehearse(rehearsal, RAID0, pool, one_pod(**{DISK: "40Gi"}), short=(NO_ARRAY,))

        assert bought(rehearsal) == ["m5d.large"]
        assert "the largest type leaves 17Gi to pods (m5d.large)" in refused(rehearsal)
        assert "nodes of its node class report 45941Mi ephemeral-storage less than m5d.large should have" in (
            refused(rehearsal)
        )


def test_what_types_lack_alike_is_not_tried_out_on_all_of_them() -> None:
    with Rehearsal(seed=1) as rehearsal:
        pool = pool_of("c5d", "m5d", "r5d")
        rehearse(rehearsal, RAID0, pool, one_pod(**{DISK: "40Gi"}), short=(NO_ARRAY,))

        # Two that are alike, and one so much larger that they said nothing of it.
        assert bought(rehearsal) == ["c5d.large", "m5d.large", "m5d.4xlarge"]
        assert "report" in refused(rehearsal)


@pytest.mark.parametrize(
    ("pod", "short", "nodes"),
    [
        pytest.param(
            {CPU: "1500m"},
            Shortfall(less=Resources.parse({CPU: "500m"})),
            ["m5.large", "c5.large", "c5.xlarge"],
            id="a reserve of the kubelet's",
        ),
        pytest.param(
            {MEMORY: "5Gi"},
            Shortfall(less=Resources.parse({MEMORY: "4Gi"})),
            ["m5.large", "m5.xlarge"],
            id="memory set aside",
        ),
    ],
)
def test_pods_go_where_there_is_room_though_less_than_promised(
    pod: dict[str, str], short: Shortfall, nodes: list[str]
) -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearse(rehearsal, node_class(), pool_of("c5", "m5"), one_pod(**pod), short=(short,))

        assert (bought(rehearsal), rehearsal.running()) == (nodes, 1)


def test_pods_that_are_too_many_for_their_nodes_are_put_on_more_of_them() -> None:
    with Rehearsal(seed=1) as rehearsal:
        eight = Shortfall(at_most=Resources.parse({PODS: "8"}))
        pods = deployment(replicas=20, cpu="100m", memory="64Mi")
        pool = pool_of("m5", types=("m5.large", "m5.xlarge"))
        rehearse(rehearsal, node_class(), pool, pods, short=(eight,))

        assert rehearsal.running() == 20
        # Half of the eight on each node are daemons.
        assert len(bought(rehearsal)) == 5


def test_a_device_that_is_missing_at_the_start_is_missing_on_the_next_node_too() -> None:
    with Rehearsal(seed=1) as rehearsal:
        three = Shortfall(less=Resources.parse({GPU: "1"}), instance_type="g4dn.12xlarge")
        rehearse(rehearsal, node_class(), pool_of("g4dn"), one_pod(**{GPU: "4"}), short=(three,))

        assert (bought(rehearsal), rehearsal.running()) == (["g4dn.12xlarge", "g4dn.metal"], 1)


def test_other_pods_need_no_detour_once_it_is_known() -> None:
    with Rehearsal(seed=1) as rehearsal:
        pool = pool_of("m5d", types=("m5d.large",))
        rehearse(rehearsal, RAID0, pool, one_pod(), short=(NO_ARRAY,))

        rehearsal.apply(text(one_pod("late", **{DISK: "40Gi"})))
        rehearsal.run("10m")

        assert bought(rehearsal) == ["m5d.large"]
        assert rehearsal.running() == 1


def test_a_node_class_that_is_put_right_is_taken_at_its_word_again() -> None:
    with Rehearsal(seed=1) as rehearsal:
        pool = pool_of("m5d", types=("m5d.large",))
        rehearse(rehearsal, RAID0, pool, one_pod(**{DISK: "40Gi"}), short=(NO_ARRAY,))

        rehearsal.ec2.set_shortfalls()
        rehearsal.apply(text(changed(RAID0, "spec.userData", "mdadm --create")))
        rehearsal.run("10m")

        assert (bought(rehearsal), rehearsal.running()) == (["m5d.large", "m5d.large"], 1)


def test_other_node_classes_are_taken_at_their_word() -> None:
    with Rehearsal(seed=1) as rehearsal:
        short = Shortfall(at_most=NO_ARRAY.at_most, node_class="default")
        first, second = pool_of("m5d", types=("m5d.large",)), pool_of("m5d", types=("m5d.large",))
        second = changed(changed(second, "metadata.name", "second"), "spec.weight", 1)
        second = changed(second, "spec.template.spec.nodeClassRef.name", "good")
        good = changed(changed(RAID0, "metadata.name", "good"), "spec.userData", "mdadm --create")
        first = changed(first, "spec.weight", 9)
        rehearse(rehearsal, RAID0, good, first, second, one_pod(**{DISK: "40Gi"}), short=(short,))

        assert [record.node_pool for record in rehearsal.history()] == ["default", "second"]
        assert rehearsal.running() == 1


def test_one_node_that_came_up_badly_among_good_ones_costs_one_more() -> None:
    with Rehearsal(seed=1) as rehearsal:
        pool = pool_of("m5d", types=("m5d.large",))
        rehearse(rehearsal, RAID0, pool, one_pod(**{DISK: "40Gi"}), short=(), time="3m")
        rehearsal.ec2.set_shortfalls(NO_ARRAY)
        rehearsal.apply(text(one_pod("late", **{DISK: "40Gi"})))
        rehearsal.run_until(lambda: len(bought(rehearsal)) == 3, within="5m")

        rehearsal.ec2.set_shortfalls()
        rehearsal.run("5m")

        assert (bought(rehearsal), rehearsal.running()) == (["m5d.large"] * 3, 2)


def test_what_one_node_alone_said_is_tried_again_after_an_hour() -> None:
    with Rehearsal(seed=1) as rehearsal:
        pool = pool_of("m5d", types=("m5d.large",))
        rehearse(rehearsal, RAID0, pool, one_pod(**{DISK: "40Gi"}), short=(NO_ARRAY,), time="50m")
        before = len(bought(rehearsal))
        rehearsal.ec2.set_shortfalls()

        rehearsal.run("30m")

        assert (before, len(bought(rehearsal)), rehearsal.running()) == (1, 2, 1)


def test_a_node_that_falls_short_keeps_its_pods_until_it_is_in_use() -> None:
    """What it lacks may come yet: nothing is decided on that before."""
    with Rehearsal(seed=1) as rehearsal:
        pool = pool_of("m5d", types=("m5d.large",))
        pool["spec"]["template"]["spec"]["startupTaints"] = [{"key": "disks", "effect": "NoSchedule"}]
        rehearse(rehearsal, RAID0, pool, one_pod(**{DISK: "40Gi"}), short=(NO_ARRAY,))

        assert bought(rehearsal) == ["m5d.large"]
        assert [claim.initialized for claim in rehearsal.claims()] == [False]


def test_a_controller_that_starts_anew_is_taught_by_the_nodes_there_are() -> None:
    with Rehearsal(seed=1) as rehearsal:
        pool = pool_of("m5d", types=("m5d.large",))
        rehearse(rehearsal, RAID0, pool, one_pod(), short=(NO_ARRAY,))

        rehearsal.crash()
        rehearsal.restart()
        rehearsal.run("1m")
        rehearsal.apply(text(one_pod("late", **{DISK: "40Gi"})))
        rehearsal.run("10m")

        assert bought(rehearsal) == ["m5d.large"]


def test_a_drifted_node_stays_where_those_that_would_replace_it_turn_out_too_small() -> None:
    with Rehearsal(seed=1) as rehearsal:
        pool = pool_of("m5", types=("m5.large",))
        rehearse(rehearsal, node_class(), pool, one_pod(**{CPU: "1500m"}), short=(), time="5m")

        rehearsal.ec2.set_shortfalls(Shortfall(less=Resources.parse({CPU: "500m"})))
        rehearsal.apply(text(changed(node_class(), "spec.userData", "reserve more")))
        rehearsal.run("40m")

        assert [record.cause for record in rehearsal.history()] == [None, "empty"]
        assert rehearsal.running() == 1
        blocked = [
            r.event.message for r in rehearsal.cluster.events() if r.event.reason == "DisruptionBlocked"
        ]
        assert "nodes of its node class report 500m cpu less than m5.large should have" in blocked[-1]
