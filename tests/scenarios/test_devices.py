"""Claims on devices without any: pods go where the devices are free, and nodes are bought that have them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.command import treenail
from tests.scenarios.manifests import Manifest, changed, deployment, node_class, node_pool, text
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.domain.model import labels
from treenail.domain.model.devices import TAINT_RULE_VERSIONS, ResourceSlice
from treenail.domain.model.resource_claims import ResourceClaim

GPU = "gpu.nvidia.com"
ATTRIBUTES = f"device.attributes['{GPU}']"
OF_GPUS = f"device.driver == '{GPU}' && {ATTRIBUTES}.type == 'gpu'"


def following(seed: int = 1) -> Rehearsal:
    return Rehearsal(seed=seed, conditions=Conditions(settings={"IGNORE_DRA_REQUESTS": "false"}))


def resource(kind: str, name: str, spec: Mapping[str, Any]) -> Manifest:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def device_class(expression: str = OF_GPUS) -> Manifest:
    return resource("DeviceClass", GPU, {"selectors": [{"cel": {"expression": expression}}]})


def devices(count: int = 1, expression: str = "", **more: Any) -> dict[str, Any]:
    own = [{"cel": {"expression": expression}}] if expression else []
    exactly = {"deviceClassName": GPU, "count": count, "selectors": own, **more}
    return {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}


def template(count: int = 1, expression: str = "", name: str = "gpus", **more: Any) -> Manifest:
    return resource("ResourceClaimTemplate", name, {"spec": devices(count, expression, **more)})


def claim(name: str = "shared", count: int = 1) -> Manifest:
    return resource("ResourceClaim", name, devices(count))


def using(name: str = "web", replicas: int = 1, **asked: Any) -> Manifest:
    asked = asked or {"resourceClaimTemplateName": "gpus"}
    path = "spec.template.spec.resourceClaims"
    return changed(deployment(name, replicas), path, [{"name": "gpu", **asked}])


def setting(*more: Manifest) -> str:
    """Return a pool of GPUs and others, a class of NVIDIA's, and `more`."""
    return text(node_class(), node_pool(families=("g4dn", "g6", "m5")), device_class(), *more)


def refusals(rehearsal: Rehearsal) -> list[str]:
    events = [record.event for record in rehearsal.cluster.events()]
    return [e.message for e in events if e.reason == "FailedScheduling" and "ResourceClaim:" in e.message]


def claims_of(rehearsal: Rehearsal) -> tuple[ResourceClaim, ...]:
    return rehearsal.cluster.objects(ResourceClaim)


def taken_once(rehearsal: Rehearsal) -> bool:
    given = Counter(device for one in claims_of(rehearsal) for device in one.devices)
    return all(count == 1 for count in given.values())


def test_nodes_with_gpus_are_bought_for_claims_of_a_template() -> None:
    with following() as rehearsal:
        rehearsal.apply(setting(template(), using(replicas=4)))
        rehearsal.run_until(lambda: rehearsal.running() == 4)

        assert all(one.annotations[labels.REQUESTED_DRIVERS] == GPU for one in rehearsal.claims())
        assert taken_once(rehearsal)
        assert sum(len(one.devices) for one in claims_of(rehearsal)) == 4
        bought = [one.name for one in rehearsal.claims()]
        rehearsal.run("30m")
        assert [one.name for one in rehearsal.claims()] == bought


def test_the_type_bought_is_one_that_the_selector_holds_for() -> None:
    with following() as rehearsal:
        wanted = template(2, f"{ATTRIBUTES}.architecture == 'Ada Lovelace'")
        rehearsal.apply(setting(wanted, using()))
        rehearsal.run_until(lambda: rehearsal.running() == 1)

        (bought,) = rehearsal.claims()
        assert bought.labels["karpenter.k8s.aws/instance-gpu-name"] == "l4"


def test_devices_that_are_free_on_existing_nodes_are_used_first() -> None:
    with following() as rehearsal:
        rehearsal.apply(setting(template(3), template(name="one"), using()))
        rehearsal.run_until(lambda: rehearsal.running() == 1)
        (there,) = rehearsal.claims()
        assert there.labels["karpenter.k8s.aws/instance-gpu-count"] == "4"

        rehearsal.apply(text(using("more", 2, resourceClaimTemplateName="one")))
        rehearsal.run_until(lambda: rehearsal.running() == 3)

        # One of the two is the fourth device's; for the other a node is bought.
        assert len(rehearsal.claims()) == 2
        assert taken_once(rehearsal)


def test_a_shared_claim_counts_once_and_keeps_its_pods_together() -> None:
    with following() as rehearsal:
        rehearsal.apply(setting(claim(count=2), using(replicas=3, resourceClaimName="shared")))
        rehearsal.run_until(lambda: rehearsal.running() == 3)

        assert len({pod.node_name for pod in rehearsal.pods()}) == 1
        (shared,) = claims_of(rehearsal)
        assert (len(shared.devices), len(shared.users)) == (2, 3)


def test_a_node_is_in_use_only_once_the_driver_has_published_its_devices() -> None:
    with following() as rehearsal:
        # Nobody runs the driver where no class names it as such.
        odd = device_class("device.driver.startsWith('gpu.nvidia')")
        rehearsal.apply(text(node_class(), node_pool(families=("g4dn",)), odd, template(), using()))
        rehearsal.run("20m")

        (bought,) = rehearsal.claims()
        assert not bought.initialized
        said = [condition.message for condition in bought.conditions]
        assert f'DRA driver "{GPU}" has not published its devices' in said


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (template(expression=f"{ATTRIBUTES}.uuid == 'GPU-1'"), "not all that it looks at is known"),
        (template(expression=f"{ATTRIBUTES}.type == 'mig'"), "suits no device that there is"),
        (template(expression="device.foo == 1"), "cannot be evaluated"),
        (template(expression="((("), "cannot be evaluated"),
        (template(allocationMode="All", count=1), "asks for all devices of a node"),
        (template(adminAccess=True), "asks for access that only administrators have"),
        (template(capacity={"requests": {"memory": "1Gi"}}), "asks for a part of what devices have"),
    ],
)
def test_what_cannot_be_counted_is_refused_with_a_reason(wanted: Manifest, said: str) -> None:
    with following() as rehearsal:
        rehearsal.apply(setting(wanted, using(replicas=1)))
        rehearsal.run("2m")

        assert rehearsal.claims() == ()
        assert said in refusals(rehearsal)[0]


def test_a_restart_counts_the_devices_of_pods_that_have_a_place_already() -> None:
    with following() as rehearsal:
        rehearsal.apply(setting(template(), using(replicas=3)))
        rehearsal.run_until(lambda: len(rehearsal.claims()) > 0)
        rehearsal.crash()
        rehearsal.restart(after=5.0)
        rehearsal.run_until(lambda: rehearsal.running() == 3)
        rehearsal.run("10m")

        assert sum(int(one.labels["karpenter.k8s.aws/instance-gpu-count"]) for one in rehearsal.claims()) <= 4
        assert taken_once(rehearsal)


def test_a_pod_whose_machine_is_taken_gets_devices_anew() -> None:
    with following() as rehearsal:
        rehearsal.apply(setting(template(), using(replicas=3)))
        rehearsal.run_until(lambda: rehearsal.running() == 3)
        rehearsal.interrupt()
        rehearsal.run("8m")

        assert rehearsal.running() == 3
        assert taken_once(rehearsal)


@pytest.mark.parametrize("seed", [1, 7])
def test_no_more_nodes_are_bought_where_the_scheduler_exchanges_pods(seed: int) -> None:
    with following(seed) as rehearsal:
        rehearsal.apply(Path("examples/007-devices.yaml"))
        rehearsal.run("10m")

        assert rehearsal.running() == 4
        assert len(rehearsal.history()) == 4


def tainting(**selector: str) -> Manifest:
    taint = {"key": "broken", "effect": "NoSchedule"}
    return resource("DeviceTaintRule", "broken", {"deviceSelector": selector, "taint": taint})


def test_no_node_is_bought_for_devices_that_a_rule_taints_until_it_is_gone() -> None:
    with following() as rehearsal:
        rehearsal.apply(setting(template(), using(), tainting(driver=GPU)))
        rehearsal.run("5m")
        assert rehearsal.history() == ()
        assert any("DeviceTaintRule broken" in one for one in refusals(rehearsal))

        rehearsal.delete("DeviceTaintRule", "broken")
        rehearsal.run_until(lambda: rehearsal.running() == 1, within="10m")


def test_a_node_whose_devices_a_rule_taints_is_passed_over() -> None:
    with following() as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(families=("g6",)), device_class(), template(), using()))
        rehearsal.run_until(lambda: rehearsal.running() == 1)
        [node] = rehearsal.nodes()
        rehearsal.apply(text(tainting(pool=node.name)))
        rehearsal.scale("web", 0)
        rehearsal.run("20s")
        rehearsal.scale("web", 1)
        rehearsal.run_until(lambda: rehearsal.running() == 1, within="10m")

        assert [pod.node_name for pod in rehearsal.pods()] != [node.name]


def test_simulate_heeds_taint_rules(tmp_path: Path) -> None:
    file = tmp_path / "rule.yaml"
    file.write_text(text(tainting(driver=GPU)))

    ran = treenail("simulate", "-f", "examples/007-devices.yaml", "-f", str(file), "-o", "json")

    found = json.loads(ran.out)
    assert found["nodeClaims"] == []
    assert len(found["unschedulable"]) == 4


def test_a_rule_applied_in_another_version_is_the_same_rule() -> None:
    with following() as rehearsal:
        older = {**tainting(driver=GPU), "apiVersion": TAINT_RULE_VERSIONS[-1]}
        rehearsal.apply(setting(template(), using(), older))
        rehearsal.run("2m")
        assert rehearsal.running() == 0

        rehearsal.apply(text(tainting(driver="other.io")))
        rehearsal.run_until(lambda: rehearsal.running() == 1, within="10m")


@pytest.mark.parametrize("there", [(), (tainting(driver="other.io"),)])
def test_no_node_is_bought_for_devices_while_a_rule_is_not_understood(
    tmp_path: Path, there: tuple[Manifest, ...]
) -> None:
    file = tmp_path / "rule.yaml"
    file.write_text(text(tainting(future="x")))
    with following() as rehearsal:
        rehearsal.apply(setting(template(), *there))
        rehearsal.run("1m")
        rehearsal.apply_file(file)
        rehearsal.apply(text(using()))
        rehearsal.run("5m")
        assert rehearsal.history() == ()
        assert any("the DeviceTaintRule" in one for one in refusals(rehearsal))

        rehearsal.apply(text(tainting(driver="other.io")))
        rehearsal.run_until(lambda: rehearsal.running() == 1, within="10m")


@pytest.mark.parametrize(
    ("broken", "asked", "said"),
    [
        (resource("DeviceClass", GPU, {"selectors": [{}]}), {}, f"the DeviceClass {GPU} cannot be read"),
        (
            resource("ResourceClaimTemplate", "odd", {}),
            {"resourceClaimTemplateName": "odd"},
            "the ResourceClaimTemplate default/odd cannot be read",
        ),
        (
            resource("ResourceClaim", "odd", {"devices": {"requests": [{}]}}),
            {"resourceClaimName": "odd"},
            "the ResourceClaim default/odd cannot be read",
        ),
    ],
)
def test_what_claims_depend_on_and_is_not_understood_is_named(
    tmp_path: Path, broken: Manifest, asked: Mapping[str, Any], said: str
) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(text(broken))
    with following() as rehearsal:
        rehearsal.apply(setting(template()))
        rehearsal.apply_file(file)
        rehearsal.apply(text(using(**asked)))
        rehearsal.run("5m")

        assert any(said in one for one in refusals(rehearsal))


def snapshot_without(kind: str) -> Manifest:
    spec = {"takenAt": "2026-03-02T10:00:00Z", "notRead": [f"{kind}: forbidden (403)"]}
    metadata = {"name": "cluster"}
    return {
        "apiVersion": "treenail.sh/v1alpha1",
        "kind": "ClusterSnapshot",
        "metadata": metadata,
        "spec": spec,
    }


UNREAD = pytest.mark.parametrize("kind", ["DeviceTaintRule", "DeviceTaintRule broken", "ResourceSlice"])


@UNREAD
def test_simulate_buys_nothing_for_devices_where_a_snapshot_could_not_read_all(
    tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "snapshot.yaml"
    file.write_text(text(snapshot_without(kind)))

    ran = treenail("simulate", "-f", "examples/007-devices.yaml", "-f", str(file), "-o", "json")

    found = json.loads(ran.out)
    assert found["nodeClaims"] == []
    assert len(found["unschedulable"]) == 4
    assert f"no {kind.split(maxsplit=1)[0]} can be read" in ran.out


@UNREAD
def test_a_rehearsal_buys_nothing_for_devices_where_a_snapshot_could_not_read_all(kind: str) -> None:
    told = setting(template(), snapshot_without(kind), using())
    conditions = Conditions(settings={"IGNORE_DRA_REQUESTS": "false"}, snapshot=told)

    with Rehearsal(conditions=conditions) as rehearsal:
        rehearsal.run("10m")

        assert rehearsal.history() == ()
        assert any(f"no {kind.split(maxsplit=1)[0]} can be read" in one for one in refusals(rehearsal))


def published(node: str, product: str) -> Manifest:
    """Return a slice as a driver writes it that calls its GPUs by another name."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    attributes = {"type": {"string": "gpu"}, "productName": {"string": product}}
    spec = {"driver": GPU, "nodeName": node, "pool": pool}
    return resource(
        "ResourceSlice", f"{node}-own", {**spec, "devices": [{"name": "0", "attributes": attributes}]}
    )


def test_nodes_whose_driver_publishes_others_than_are_known_are_bought_ever_more_seldom() -> None:
    with following() as rehearsal:
        # Nobody plays the driver where no class names it as such: this test does.
        of_any = device_class("device.attributes[device.driver].type == 'gpu'")
        wanted = template(1, f"{ATTRIBUTES}.productName == 'NVIDIA L4'")
        rehearsal.apply(text(node_class(), node_pool(families=("g6",)), of_any, wanted, using()))
        for _ in range(180):
            rehearsal.run("20s")
            there = {one.node for one in rehearsal.cluster.objects(ResourceSlice)}
            fresh = [c.node_name for c in rehearsal.claims() if c.node_name and c.node_name not in there]
            if fresh:
                rehearsal.apply(text(*(published(name, "NVIDIA L4 24GB") for name in fresh)))

        # At once three times, and then after 1, 2, 4, 8, 16 and 30 minutes.
        assert 3 <= len(rehearsal.history()) <= 8
        assert rehearsal.running() == 0
