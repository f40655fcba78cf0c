"""Node overlays: own prices and extended resources, from the decision to the node, and in consolidation."""

from __future__ import annotations

from typing import Any

from tests.scenarios.manifests import Manifest, deployment, need, node_class, node_overlay, node_pool, text
from tests.scenarios.watching import fleet_requests
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.domain.disruption.consolidation_pass import ConsolidationRules
from treenail.domain.explain.node_explanation import explain_node
from treenail.domain.model import labels
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.nodes import INITIALIZED, NodeClaim, Status, condition_of

FUSE = "smarter-devices/fuse"
ON_DEMAND = node_pool(capacity_types=("on-demand",))
ONE_TYPE = need("node.kubernetes.io/instance-type", "m5.8xlarge")


def of_type(name: str) -> dict[str, object]:
    return need("node.kubernetes.io/instance-type", name)


def with_device(manifest: Manifest, amount: int = 1) -> Manifest:
    """Return a workload whose pods ask for devices of the overlay, too."""
    resources = manifest["spec"]["template"]["spec"]["containers"][0]["resources"]
    resources["requests"][FUSE] = resources.setdefault("limits", {})[FUSE] = str(amount)
    return manifest


def the_claim(rehearsal: Rehearsal) -> NodeClaim:
    (claim,) = rehearsal.claims()
    return claim


def shown(rehearsal: Rehearsal, name: str = "own") -> dict[str, tuple[Status, str, str]]:
    """Return status, reason and message of an overlay's conditions, by type."""
    conditions = rehearsal.cluster.conditions(ObjectRef("NodeOverlay", name))
    return {one.type: (one.status, one.reason, one.message) for one in conditions}


def test_the_type_that_an_overlay_makes_the_cheapest_is_bought_at_its_price() -> None:
    overlay = node_overlay("savings-plan", ONE_TYPE, price="0.001")
    with Rehearsal(seed=1) as rehearsal:
        requests = fleet_requests(rehearsal)
        rehearsal.apply(text(node_class(), ON_DEMAND, overlay, deployment(replicas=2)))
        rehearsal.run_until(lambda: rehearsal.running() == 2)

        claim = the_claim(rehearsal)
        assert claim.instance_type == "m5.8xlarge"
        assert claim.annotations[labels.PRICE] == "0.001000"
        assert claim.annotations[labels.PRICE_FROM] == "savings-plan"
        assert claim.annotations[labels.PRICE_OVERLAY_APPLIED] == "true"
        assert labels.CAPACITY_OVERLAY_APPLIED not in claim.annotations
        assert all(request.ranked for request in requests)


def test_the_price_of_a_node_is_explained_with_the_overlay_that_sets_it() -> None:
    overlay = node_overlay("savings-plan", ONE_TYPE, price="0.001")
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), ON_DEMAND, overlay, deployment(replicas=2)))
        rehearsal.run_until(lambda: rehearsal.running() == 2)

        model = rehearsal.system.model
        (view,) = model.objects.views()
        told = " ".join(one.says for one in explain_node(model, view, rehearsal.world.now()))
        assert "on-demand, $0.001/h by NodeOverlay savings-plan" in told


def test_a_price_of_nothing_is_a_price() -> None:
    free = node_overlay("free", ONE_TYPE, priceAdjustment="-100%")
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), ON_DEMAND, free, deployment(replicas=2)))
        rehearsal.run_until(lambda: rehearsal.running() == 2)

        assert the_claim(rehearsal).instance_type == "m5.8xlarge"
        assert the_claim(rehearsal).annotations[labels.PRICE] == "0.000000"


def test_without_an_overlay_fleets_go_by_what_ec2_knows() -> None:
    with Rehearsal(seed=1) as rehearsal:
        requests = fleet_requests(rehearsal)
        rehearsal.apply(text(node_class(), ON_DEMAND, deployment(replicas=2)))
        rehearsal.run_until(lambda: rehearsal.running() == 2)

        assert not any(request.ranked for request in requests)
        assert labels.PRICE_FROM not in the_claim(rehearsal).annotations


def test_an_edit_counts_for_the_next_decision_and_a_deleted_overlay_for_none() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), ON_DEMAND, node_overlay("own", ONE_TYPE, price="0.001")))
        rehearsal.run("1m")
        rehearsal.apply(text(node_overlay("own", of_type("c5.4xlarge"), price="0.001")))
        rehearsal.apply(text(deployment("first", 1)))
        rehearsal.run_until(lambda: rehearsal.running() == 1)
        assert the_claim(rehearsal).instance_type == "c5.4xlarge"

        rehearsal.delete("NodeOverlay", "own")
        rehearsal.apply(text(deployment("second", 1, cpu="30")))
        rehearsal.run_until(lambda: rehearsal.running() == 2)

        other = next(one for one in rehearsal.claims() if one.instance_type != "c5.4xlarge")
        assert labels.PRICE_OVERLAY_APPLIED not in other.annotations


def test_pods_that_ask_for_an_added_resource_get_a_node_that_will_have_it() -> None:
    devices = node_overlay("devices", need("karpenter.k8s.aws/instance-cpu", "16"), capacity={FUSE: 2})
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), ON_DEMAND, devices, with_device(deployment(replicas=4))))
        rehearsal.run_until(lambda: rehearsal.running() == 4)

        assert len(rehearsal.claims()) == 2
        for claim in rehearsal.claims():
            assert claim.capacity[FUSE] == claim.allocatable[FUSE] == 2
            assert claim.annotations[labels.CAPACITY_OVERLAY_APPLIED] == "true"
            assert labels.PRICE_OVERLAY_APPLIED not in claim.annotations


def test_a_node_is_not_in_use_until_the_added_resource_is_offered_there() -> None:
    devices = node_overlay("devices", capacity={FUSE: 2})
    without_plugins = Conditions(cluster=ClusterSettings(device_plugins=False))
    with Rehearsal(seed=1, conditions=without_plugins) as rehearsal:
        rehearsal.apply(text(node_class(), ON_DEMAND, devices, with_device(deployment(replicas=1))))
        rehearsal.run("5m")

        waiting = condition_of(the_claim(rehearsal).conditions, INITIALIZED)
        assert waiting is not None
        assert (waiting.status, waiting.reason) == (Status.UNKNOWN, "ResourceNotRegistered")
        assert rehearsal.running() == 0
        assert len(rehearsal.claims()) == 1


def test_a_pod_that_no_type_could_run_gets_its_node_when_an_overlay_says_so() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), ON_DEMAND, with_device(deployment(replicas=1))))
        rehearsal.run("3m")
        assert rehearsal.claims() == ()

        rehearsal.apply(text(node_overlay("devices", capacity={FUSE: 2})))
        rehearsal.run_until(lambda: rehearsal.running() == 1, within="5m")


def test_an_overlay_of_another_pool_changes_nothing() -> None:
    overlay = node_overlay("own", ONE_TYPE, need("karpenter.sh/nodepool", "other"), price="0.001")
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), ON_DEMAND, overlay, deployment(replicas=2)))
        rehearsal.run_until(lambda: rehearsal.running() == 2)

        assert the_claim(rehearsal).instance_type != "m5.8xlarge"


def test_a_valid_overlay_says_that_it_is() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), ON_DEMAND, node_overlay(price="1")))
        rehearsal.run("10s")

        assert {kind: told[0] for kind, told in shown(rehearsal).items()} == {
            "ValidationSucceeded": Status.TRUE,
            "Ready": Status.TRUE,
        }


def test_overlays_in_conflict_say_where_and_are_well_again_when_one_is_changed() -> None:
    zone = need("topology.kubernetes.io/zone", "us-east-1a")
    whole, part = node_overlay("a", ONE_TYPE, price="1"), node_overlay("b", ONE_TYPE, zone, price="2")
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), ON_DEMAND, whole, part))
        rehearsal.run("10s")

        status, reason, message = shown(rehearsal, "a")["ValidationSucceeded"]
        assert (status, reason) == (Status.FALSE, "Conflict")
        assert "m5.8xlarge (price as on-demand in us-east-1a) with b" in message
        assert "us-east-1b" not in message
        assert shown(rehearsal, "a")["Ready"][0] is Status.FALSE
        assert shown(rehearsal, "b")["ValidationSucceeded"][0] is Status.TRUE
        told = [one.event for one in rehearsal.cluster.events() if one.event.about.kind == "NodeOverlay"]
        assert [(one.reason, one.warning) for one in told if one.reason == "Conflict"] == [("Conflict", True)]

        rehearsal.apply(text(node_overlay("a", ONE_TYPE, price="1", weight=5)))
        rehearsal.run("10s")
        assert shown(rehearsal, "a")["ValidationSucceeded"][0] is Status.TRUE


def test_conditions_follow_what_was_applied_while_nobody_acted() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), ON_DEMAND, node_overlay(price="1")))
        rehearsal.run("1m")
        rehearsal.crash()
        rehearsal.apply(text(node_overlay("other", price="2")))
        rehearsal.restart(after=1)
        rehearsal.run("1m")

        assert shown(rehearsal)["Ready"][0] is Status.TRUE
        assert shown(rehearsal, "other")["ValidationSucceeded"][1] == "Conflict"


def consolidating(seed: int = 1) -> Rehearsal:
    system = SystemSettings(cluster_name="demo", consolidation=ConsolidationRules())
    return Rehearsal(seed=seed, conditions=Conditions(system=system))


def consolidated_pool(**own: Any) -> Manifest:
    made = node_pool(capacity_types=("on-demand",), **own)
    made["spec"]["disruption"] |= {
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "budgets": [{"nodes": "100%"}],
    }
    return made


def test_a_price_that_is_edited_moves_pods_to_what_is_cheaper_now() -> None:
    with consolidating() as rehearsal:
        rehearsal.apply(text(node_class(), consolidated_pool(), deployment(replicas=1)))
        rehearsal.run_until(lambda: rehearsal.running() == 1)
        before = the_claim(rehearsal).instance_type
        rehearsal.run("5m")
        assert the_claim(rehearsal).instance_type == before

        rehearsal.apply(text(node_overlay("own", ONE_TYPE, price="0.001")))
        rehearsal.run("20m")

        assert the_claim(rehearsal).instance_type == "m5.8xlarge"
        assert rehearsal.running() == 1


def test_what_was_bought_by_an_overlay_stays_while_it_is_there() -> None:
    with consolidating() as rehearsal:
        overlay = node_overlay("own", ONE_TYPE, price="0.001")
        rehearsal.apply(text(node_class(), consolidated_pool(), overlay, deployment(replicas=1)))
        rehearsal.run_until(lambda: rehearsal.running() == 1)
        name = the_claim(rehearsal).name

        rehearsal.run("30m")

        assert the_claim(rehearsal).name == name


def test_the_price_is_written_down_though_the_controller_dies_between_the_call_and_the_record() -> None:
    for cut in (1.5, 2.0, 2.5, 3.0):
        with Rehearsal(seed=3) as rehearsal:
            overlay = node_overlay("own", ONE_TYPE, price="0.001", capacity={FUSE: 1})
            rehearsal.apply(text(node_class(), ON_DEMAND, overlay, with_device(deployment(replicas=1))))
            rehearsal.run(cut)
            rehearsal.crash()
            rehearsal.restart(after=5)
            rehearsal.run_until(lambda: rehearsal.running() == 1)

            claim = the_claim(rehearsal)
            assert claim.annotations[labels.PRICE_FROM] == "own"
            assert claim.capacity[FUSE] == 1
