"""What EC2 does by itself, and what is expected of its instances."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.conformance.stage import Stage, Step
from treenail.adapters.api.account import ReservedCapacity, Subnet
from treenail.adapters.fake.ec2 import EC2Faults
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.model.labels import CAPACITY_TYPE
from treenail.domain.model.nodes import READY, Condition, Status


def nodes_bought(count: int) -> Step:
    """Expect that so many instances were ever launched."""

    def check(stage: Stage) -> None:
        assert len(stage.rehearsal.ec2.all_instances()) == count

    return check


def interrupted(count: int = 1) -> Step:
    """Let EC2 announce the end of spot instances, the oldest first."""

    def do(stage: Stage) -> None:
        for record in stage.rehearsal.ec2.live()[:count]:
            stage.rehearsal.ec2.outside.interrupt(record.instance.id)

    return do


def terminated_outside(count: int = 1) -> Step:
    """Terminate instances behind the controller's back, the oldest first."""

    def do(stage: Stage) -> None:
        for record in stage.rehearsal.ec2.live()[:count]:
            stage.rehearsal.ec2.outside.terminate(record.instance.id)

    return do


def stopped() -> Step:
    """Stop the oldest instance behind the controller's back."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.outside.stop(stage.rehearsal.ec2.live()[0].instance.id)

    return do


def impaired(kind: str = "instance_status") -> Step:
    """Let the oldest instance fail a check, or (event_status) plan its retirement."""

    def do(stage: Stage) -> None:
        instance = stage.rehearsal.ec2.live()[0].instance.id
        if kind == "event_status":
            stage.rehearsal.ec2.health.plan(instance, 14 * 86_400)
        else:
            stage.rehearsal.ec2.health.fail(instance, InterruptionKind(kind))

    return do


def sickened(condition: str = READY, status: str = "False", *, count: int = 1) -> Step:
    """Let nodes say this of themselves from now on."""

    def do(stage: Stage) -> None:
        for node in sorted(stage.rehearsal.nodes(), key=lambda one: one.name)[:count]:
            shown = Condition(condition, Status(status), "KubeletNotReady")
            stage.rehearsal.cluster.set_node_condition(node.name, shown)

    return do


def message(body: dict[str, object]) -> Step:
    """Send a message to the interruption queue; "{instance}" in it is the oldest instance."""

    def do(stage: Stage) -> None:
        instance = stage.rehearsal.ec2.live()[0].instance.id
        stage.rehearsal.queue.put(json.dumps(body).replace("{instance}", instance))

    return do


def queue_is_empty() -> Step:
    """Expect that all messages of the interruption queue are deleted."""

    def check(stage: Stage) -> None:
        assert stage.rehearsal.queue.backlog() == ()

    return check


def run_out(instance_type: str, zone: str, way: str) -> Step:
    """Let EC2 have no more of a type in a zone, spot or on demand."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.outside.run_out(instance_type, zone, way)

    return do


def reserve(name: str, instance_type: str, zone: str, count: int) -> Step:
    """Add a capacity reservation with the tag purpose=test."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.reservations.add(
            ReservedCapacity(
                id=name, instance_type=instance_type, zone=zone, instances=count, tags={"purpose": "test"}
            )
        )

    return do


def reserved_in(name: str, count: int) -> Step:
    """Expect that so many of the pods of a name are on reserved nodes."""

    def check(stage: Stage) -> None:
        ways = [stage.node_of(pod).labels[CAPACITY_TYPE] for pod in stage.pods(name)]
        assert ways.count("reserved") == count, ways

    return check


def subnet(name: str, zone: str, cidr: str) -> Step:
    """Add a subnet, known by its id alone."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.add_subnet(Subnet(id=name, zone=zone, cidr=cidr, tags={}))

    return do


def on_subnet(name: str, subnet_id: str) -> Step:
    """Expect in which subnet the node of a pod is."""

    def check(stage: Stage) -> None:
        assert stage.instance_of(stage.pod(name)).subnet_id == subnet_id

    return check


def used_subnets(*ids: str) -> Step:
    """Expect in which subnets all instances are."""

    def check(stage: Stage) -> None:
        assert {record.instance.subnet_id for record in stage.rehearsal.ec2.live()} == set(ids)

    return check


def tagged(name: str, key: str, wanted: str) -> Step:
    """Expect a tag of the instance of a pod; "node" and "claim" stand for the names of these."""

    def check(stage: Stage) -> None:
        pod = stage.pod(name)
        known = {"node": stage.node_of(pod).name, "claim": stage.claim_of(pod).name}
        assert stage.instance_of(pod).tags.get(key) == known.get(wanted, wanted)

    return check


def instance_without_claim() -> Step:
    """Launch an instance as the last one was, of which no claim knows."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.outside.launch(replace(stage.requests[-1], token="nobody", count=1))  # noqa: S106

    return do


def instances(count: int) -> Step:
    """Expect how many instances live."""

    def check(stage: Stage) -> None:
        assert len(stage.rehearsal.ec2.live()) == count

    return check


def never_joins() -> Step:
    """Let no kubelet of a new machine ever come up."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.faults = EC2Faults(never_joins=1.0)

    return do
