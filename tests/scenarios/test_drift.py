"""Nodes that are not what their pool would make today."""

from __future__ import annotations

from typing import Any

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import expect_whole_traces, pods_by_node, told
from treenail.adapters.api.account import SecurityGroup
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.nodes import DRIFTED, condition_of
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.model.template_hash import NODEPOOL_HASH

ONE_POD_EACH = {"node.kubernetes.io/instance-type": "c5.large"}


def pool(*, labels: dict[str, str] | None = None, at_once: str = "1") -> dict[str, Any]:
    made = node_pool(labels=labels)
    made["spec"]["disruption"]["budgets"] = [{"nodes": at_once}]
    return made


def test_drifted_nodes_are_replaced_as_many_at_a_time_as_the_budget_says() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), pool(), deployment(replicas=3, node_selector=ONE_POD_EACH)))
        rehearsal.run("3m")
        old = {record.name for record in rehearsal.history()}
        assert len(old) == 3

        rehearsal.apply(text(pool(labels={"generation": "two"})))
        rehearsal.run("12m")

        ended = [record for record in rehearsal.history() if record.terminated_at is not None]
        assert {record.name for record in ended} == old
        assert {record.cause for record in ended} == {"drifted"}
        assert rehearsal.running() == 3
        assert not old & set(pods_by_node(rehearsal))
        # One after the other, each when its replacement was ready.
        ready = sorted(entry.at for entry in told(rehearsal, "NodeInitialized"))[3:]
        drained = sorted(entry.at for entry in told(rehearsal, "NodeDrained"))
        assert all(there < gone for there, gone in zip(ready, drained, strict=True))
        assert all(gone < later for gone, later in zip(drained, ready[1:], strict=False))
        expect_whole_traces(rehearsal)


def test_a_change_of_the_node_class_is_seen_and_shown() -> None:
    with Rehearsal(seed=2) as rehearsal:
        rehearsal.apply(text(node_class(), pool(at_once="0"), deployment(replicas=1)))
        rehearsal.run("3m")

        changed = node_class()
        changed["spec"]["tags"] = {"team": "a"}
        rehearsal.apply(text(changed))
        rehearsal.run("2m")

        (claim,) = rehearsal.claims()
        shown = condition_of(claim.conditions, DRIFTED)
        assert shown is not None
        assert (shown.status, shown.reason) == ("True", "NodeClassDrift")
        assert rehearsal.running() == 1


def test_nodes_move_to_the_subnets_that_are_selected_now() -> None:
    with Rehearsal(seed=3) as rehearsal:
        rehearsal.apply(text(node_class(), pool(), deployment(replicas=1)))
        rehearsal.run("3m")
        (old,) = rehearsal.ec2.live()
        other = next(subnet for subnet in rehearsal.ec2.subnets if subnet.id != old.subnet_id)

        changed = node_class()
        changed["spec"]["subnetSelectorTerms"] = [{"id": other.id}]
        rehearsal.apply(text(changed))
        rehearsal.run("12m")

        (new,) = rehearsal.ec2.live()
        assert new.subnet_id == other.id
        assert reasons(rehearsal) == ["SubnetDrift"]
        assert rehearsal.running() == 1
        expect_whole_traces(rehearsal)


def test_nodes_move_to_the_placement_group_that_there_is_now() -> None:
    with Rehearsal(seed=3) as rehearsal:
        placed = node_class()
        placed["spec"]["placementGroupSelector"] = {"name": "close"}
        rehearsal.apply(text(placed, pool(), deployment(replicas=1)))
        rehearsal.run("3m")

        group = rehearsal.ec2.placement_groups.make("close")
        rehearsal.run("12m")

        (new,) = rehearsal.ec2.live()
        assert new.instance.placement_group == group
        assert reasons(rehearsal) == ["PlacementGroupDrift"]
        assert rehearsal.running() == 1
        expect_whole_traces(rehearsal)


def test_nodes_are_replaced_where_another_security_group_is_selected() -> None:
    with Rehearsal(seed=4) as rehearsal:
        rehearsal.apply(text(node_class(), pool(), deployment(replicas=1)))
        rehearsal.run("3m")
        (old,) = rehearsal.ec2.live()

        rehearsal.ec2.add_security_group(SecurityGroup(id="sg-more"))
        rehearsal.run("15m")

        (new,) = rehearsal.ec2.live()
        assert new.instance.security_groups == tuple(sorted((*old.instance.security_groups, "sg-more")))
        assert reasons(rehearsal) == ["SecurityGroupDrift"]
        expect_whole_traces(rehearsal)


def reasons(rehearsal: Rehearsal) -> list[Any]:
    """Return why nodes were found to have drifted, in turn."""
    return [line.fields["reason"] for line in rehearsal.telemetry.logs if line.message == "detected drift"]


def budget(*, allowed: int) -> dict[str, Any]:
    spec = {"selector": {"matchLabels": {"app": "held"}}, "maxUnavailable": allowed}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "held"},
        "spec": spec,
    }


def test_a_node_whose_pods_may_not_leave_holds_up_no_other_and_goes_when_they_may() -> None:
    with Rehearsal(seed=5) as rehearsal:
        held = deployment("held", replicas=1, node_selector=ONE_POD_EACH)
        rehearsal.apply(text(node_class(), pool(at_once="1"), budget(allowed=0), held))
        rehearsal.run("3m")
        (stuck,) = pods_by_node(rehearsal)
        rehearsal.apply(text(deployment("free", replicas=1, node_selector=ONE_POD_EACH)))
        rehearsal.run("3m")

        rehearsal.apply(text(pool(labels={"generation": "two"}, at_once="1")))
        rehearsal.run("10m")

        ended = [record for record in rehearsal.history() if record.terminated_at is not None]
        assert [record.cause for record in ended] == ["drifted"]
        assert stuck in pods_by_node(rehearsal)
        assert "pdb prevents pod evictions (PodDisruptionBudget=[default/held])" in refusals(rehearsal)

        rehearsal.apply(text(budget(allowed=1)))
        rehearsal.run("10m")

        assert stuck not in pods_by_node(rehearsal)
        assert rehearsal.running() == 2
        expect_whole_traces(rehearsal)


def refusals(rehearsal: Rehearsal) -> set[str]:
    return {str(entry.fields["why"]) for entry in told(rehearsal, "DisruptionRefused")}


def test_nodes_that_drift_whatever_is_done_are_replaced_less_and_less_often() -> None:
    foreign = {NODEPOOL_HASH: "somebody else's"}
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), pool(at_once="100%"), deployment(replicas=1)))
        for _ in range(6 * 60):
            rehearsal.run("1m")
            for claim in rehearsal.claims():
                if claim.annotations.get(NODEPOOL_HASH) != foreign[NODEPOOL_HASH]:
                    rehearsal.cluster.patch_claim(claim.name, ClaimPatch(annotations=foreign))

        assert rehearsal.running() == 1
        assert 3 <= len(rehearsal.history()) <= 8
        held = [r.event for r in rehearsal.cluster.events() if "made in their place" in r.event.message]
        assert {(event.about.kind, event.reason) for event in held} == {("NodePool", "DisruptionBlocked")}
        assert rehearsal.telemetry.counted("treenail_drift_held_back_total") == len(held)
