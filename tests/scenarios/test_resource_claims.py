"""Claims on devices that have some: their pods go where these can be used, and nowhere else."""

from __future__ import annotations

from typing import Any

from tests.scenarios.manifests import Manifest, changed, deployment, node_class, node_pool, text
from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions, Rehearsal

ZONE = "topology.kubernetes.io/zone"


def following(*, claims: bool = True) -> Rehearsal:
    system = SystemSettings(cluster_name="demo", resource_claims=claims)
    return Rehearsal(seed=1, conditions=Conditions(system=system))


def claim(*zones: str, name: str = "shared", users: tuple[str, ...] = ("other",)) -> Manifest:
    """Return a claim with devices on a network that reaches these zones, all where none is named."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}
    selector = {"nodeSelector": {"nodeSelectorTerms": [term]}} if zones else {}
    reserved = [{"resource": "pods", "name": uid, "uid": uid} for uid in users]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [{"name": "nic", "exactly": {"deviceClassName": "nic"}}]}},
        "status": {"allocation": {"devices": {}, **selector}, "reservedFor": reserved},
    }


def without_devices(name: str = "shared") -> Manifest:
    return {**claim(name=name), "status": {}}


def using(name: str = "web", replicas: int = 1, **asked: Any) -> Manifest:
    asked = asked or {"resourceClaimName": "shared"}
    path = "spec.template.spec.resourceClaims"
    return changed(deployment(name, replicas), path, [{"name": "gpu", **asked}])


def refusals(rehearsal: Rehearsal) -> list[str]:
    events = [record.event for record in rehearsal.cluster.events()]
    ours = [one for one in events if one.reason == "FailedScheduling" and one.about.kind == "Pod"]
    return [one.message for one in ours if "ResourceClaim:" in one.message or "Topology:" in one.message]


def test_nodes_are_bought_where_the_devices_of_a_shared_claim_are() -> None:
    with following() as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), claim("us-east-1b"), using(replicas=20)))
        rehearsal.run_until(lambda: rehearsal.running() == 20)

        assert {one.zone for one in rehearsal.claims()} == {"us-east-1b"}
        assert refusals(rehearsal) == []


def test_pods_without_claims_are_bought_for_all_the_same_and_elsewhere() -> None:
    with following() as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), claim("nowhere-1a"), using(), deployment("free", 3)))
        rehearsal.run("3m")

        assert rehearsal.running() == 3
        assert any("DeviceTopology:" in said and "nowhere-1a" in said for said in refusals(rehearsal))


def test_without_the_setting_pods_with_claims_are_refused_whatever_their_claims_have() -> None:
    with following(claims=False) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), claim(), using()))
        rehearsal.run("3m")

        assert (rehearsal.running(), rehearsal.claims()) == (0, ())
        assert "it has the resource claim gpu: nodes are not chosen by such claims" in refusals(rehearsal)[0]


def test_nothing_is_bought_for_a_claim_without_devices_until_it_has_some() -> None:
    with following() as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), without_devices(), using()))
        rehearsal.run("3m")
        assert rehearsal.claims() == ()
        assert "the DeviceClass nic is not there" in refusals(rehearsal)[0]

        rehearsal.apply(text(claim("us-east-1c")))
        rehearsal.run_until(lambda: rehearsal.running() == 1, within="3m")
        assert [one.zone for one in rehearsal.claims()] == ["us-east-1c"]


def test_nothing_is_bought_for_claims_still_to_be_made_from_a_template() -> None:
    with following() as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), using(resourceClaimTemplateName="one-gpu")))
        rehearsal.run("3m")

        assert rehearsal.claims() == ()
        assert "the ResourceClaimTemplate default/one-gpu is not there" in refusals(rehearsal)[0]


def test_a_drifted_node_stays_while_a_pod_on_it_has_devices() -> None:
    with following() as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), claim(), using()))
        rehearsal.run_until(lambda: rehearsal.running() == 1)
        (before,) = rehearsal.claims()

        rehearsal.apply(text(node_pool(labels={"new": "yes"})))
        rehearsal.run("30m")

        assert [one.name for one in rehearsal.claims()] == [before.name]
        blocked = [
            record.event.message
            for record in rehearsal.cluster.events()
            if record.event.reason == "DisruptionBlocked"
        ]
        assert any("whose devices may be others when the pod moves" in said for said in blocked)


def test_an_interrupted_node_is_drained_though_its_pods_have_devices() -> None:
    with following() as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), claim(), using()))
        rehearsal.run_until(lambda: rehearsal.running() == 1)

        lost = rehearsal.interrupt()
        rehearsal.run_until(lambda: rehearsal.running() == 1 and lost not in names(rehearsal), within="20m")


def names(rehearsal: Rehearsal) -> list[str]:
    return [node.name for node in rehearsal.nodes()]
