"""The lines of Karpenter's log that its walkthroughs show, each with its facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.scenarios.watching import example, told
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.ec2 import Spell
from treenail.domain.model.resources import Resources


@pytest.fixture(scope="module")
def inflate() -> Iterator[Rehearsal]:
    """Walkthrough 001: five pods come, and go again."""
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(example("001-inflate"))
        rehearsal.run("5m")
        rehearsal.scale("inflate", 0)
        rehearsal.run("5m")
        yield rehearsal


@pytest.fixture(scope="module")
def templates() -> Iterator[Rehearsal]:
    """Walkthrough 000, whose node classes are objects of their own."""
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(example("000-weight"))
        rehearsal.run("5m")
        yield rehearsal


@pytest.fixture(scope="module")
def beta() -> Iterator[Rehearsal]:
    """Walkthrough 002: two pods on spot, whose node EC2 wants back."""
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(example("002-spot"))
        rehearsal.run("5m")
        rehearsal.interrupt()
        rehearsal.run("5m")
        yield rehearsal


def lines(rehearsal: Rehearsal, message: str) -> list[dict[str, Any]]:
    """Return the fields of the lines with that message, less the ids of traces."""
    ids = ("trace_id", "span_id")
    found = [line.fields for line in rehearsal.telemetry.logs if line.message == message]
    return [{k: v for k, v in fields.items() if k not in ids} for fields in found]


def the_line(rehearsal: Rehearsal, message: str) -> dict[str, Any]:
    [fields] = lines(rehearsal, message)
    return fields


def test_found_provisionable_pods(inflate: Rehearsal) -> None:
    assert the_line(inflate, "found provisionable pods") == {"logger": "controller.provisioner", "pods": 5}


def test_computed_packing_with_instance_type_options(inflate: Rehearsal) -> None:
    line = the_line(inflate, "computed packing with instance type options")

    assert line["logger"] == "controller.provisioner"
    assert (line["pool"], line["nodes"], line["pods"]) == ("default", 1, 5)
    assert line["instance_types"]


def test_excluding_instance_types(inflate: Rehearsal) -> None:
    line = the_line(inflate, "excluding instance types: no room beside kubelet, system and daemons")

    assert (line["logger"], line["level"]) == ("controller.provisioner", "debug")
    assert {"t3.nano", "t4g.nano"} <= set(line["instance_types"])
    assert "c5.2xlarge" not in line["instance_types"]


def test_created_machine(inflate: Rehearsal) -> None:
    line = the_line(inflate, "created machine")

    assert (line["logger"], line["provisioner"]) == ("controller.provisioner", "default")
    assert line["machine"].startswith("default-")
    assert Resources.parse(line["requests"]) == Resources.parse(
        {"cpu": "5155m", "memory": "120Mi", "pods": 9}
    )
    assert line["instance_types"].endswith(" other(s)")


def test_launched_instance(inflate: Rehearsal) -> None:
    line, [node] = the_line(inflate, "launched instance"), inflate.history()

    assert line["logger"] == "controller.provisioner.cloudprovider"
    assert (line["instance_type"], line["capacity_type"], line["zone"]) == (
        node.instance_type,
        node.capacity_type,
        node.zone,
    )
    assert line["id"].startswith("i-")


def test_launched_machine_with_allocatable(inflate: Rehearsal) -> None:
    line, created = the_line(inflate, "launched machine"), the_line(inflate, "created machine")

    assert line["logger"] == "controller.machine.lifecycle"
    assert (line["machine"], line["provisioner"]) == (created["machine"], "default")
    assert line["provider_id"].startswith("aws:///")
    assert {"cpu", "memory", "pods"} <= line["allocatable"].keys()


@pytest.mark.parametrize(
    ("text", "stage"), [("registered machine", "register"), ("initialized machine", "initialize")]
)
def test_a_machine_that_registered_and_is_initialized(inflate: Rehearsal, text: str, stage: str) -> None:
    [line] = [one.fields for one in inflate.telemetry.logs if one.message == text]
    [(_, trace_id)] = inflate.decisions()
    [span] = [span for span in inflate.telemetry.spans_of(trace_id) if span.name == stage]

    assert line["logger"] == "controller.machine.lifecycle"
    assert (line["machine"], line["provisioner"]) == (
        the_line(inflate, "created machine")["machine"],
        "default",
    )
    assert line["node"] == inflate.history()[0].name
    assert (line["trace_id"], line["span_id"]) == (trace_id, span.context.span_id)


def test_bound_pods(inflate: Rehearsal) -> None:
    line, created = the_line(inflate, "bound pods"), the_line(inflate, "created machine")

    assert line["logger"] == "controller.provisioner"
    assert (line["pods"], line["nodeclaim"]) == (5, created["machine"])


def test_added_ttl_to_empty_node(inflate: Rehearsal) -> None:
    line, created = the_line(inflate, "added TTL to empty node"), the_line(inflate, "created machine")

    expected = {"logger": "controller.node", "nodeclaim": created["machine"], "ttl_seconds": 30.0}
    assert line == expected


def test_deprovisioning_via_emptiness(inflate: Rehearsal) -> None:
    line, created = the_line(inflate, "deprovisioning via emptiness"), the_line(inflate, "created machine")

    assert line == {"logger": "controller.deprovisioning", "nodeclaims": [created["machine"]]}


def test_cordoned_and_deleted_node_and_machine(inflate: Rehearsal) -> None:
    created, cordoned = the_line(inflate, "created machine"), the_line(inflate, "cordoned node")
    node, machine = the_line(inflate, "deleted node"), the_line(inflate, "deleted machine")

    assert cordoned["logger"] == node["logger"] == "controller.termination"
    assert cordoned["node"] == node["node"] == machine["node"]
    assert machine["logger"] == "controller.machine.termination"
    assert (machine["machine"], machine["provisioner"]) == (created["machine"], "default")
    assert node["cause"] == machine["cause"] == "empty"


def test_discovered_subnets_security_groups_and_ami_once_for_each_template(templates: Rehearsal) -> None:
    for message, what, begins in (
        ("discovered subnets", "subnets", "subnet-"),
        ("discovered security groups", "security_groups", "sg-"),
        ("discovered ami", "ids", "ami-"),
    ):
        found = lines(templates, message)
        assert {line["logger"] for line in found} == {"controller.nodeclass"}
        assert sorted(line["node_class"] for line in found) == [
            "AWSNodeTemplate/default",
            "AWSNodeTemplate/weight-provisioner",
        ]
        assert all(line[what] and all(one.startswith(begins) for one in line[what]) for line in found)


def test_what_a_provider_within_a_provisioner_means_is_discovered_too(inflate: Rehearsal) -> None:
    for message, what, begins in (
        ("discovered subnets", "subnets", "subnet-"),
        ("discovered security groups", "security_groups", "sg-"),
        ("discovered ami", "ids", "ami-"),
    ):
        line = the_line(inflate, message)
        assert (line["logger"], line["node_class"]) == ("controller.nodeclass", "Provisioner/default")
        assert line[what]
        assert all(one.startswith(begins) for one in line[what])


def test_initiating_delete_from_interruption_message(beta: Rehearsal) -> None:
    line = the_line(beta, "initiating delete from interruption message")

    assert line["logger"] == "controller.interruption"
    assert line["cause"] == "spot_interrupted"
    [ended] = told(beta, "InstanceTerminated")
    assert line["nodeclaim"] == ended.fields["nodeClaim"]


def test_what_is_of_the_new_generation_is_told_in_its_words(beta: Rehearsal) -> None:
    created = lines(beta, "created nodeclaim")

    assert {line["nodepool"] for line in created} == {"default"}
    assert {line["logger"] for line in lines(beta, "launched nodeclaim")} == {
        "controller.nodeclaim.lifecycle"
    }
    assert lines(beta, "deleted nodeclaim")[0]["logger"] == "controller.nodeclaim.termination"


@pytest.mark.parametrize("seed", range(1, 5))
def test_every_line_about_a_launch_has_the_ids_of_its_span_after_lost_answers_and_a_crash_too(
    seed: int,
) -> None:
    with Rehearsal(seed=seed) as rehearsal:
        rehearsal.apply(example("001-inflate"))
        rehearsal.run_until(lambda: bool(told(rehearsal, "PlanCommitted")))
        rehearsal.ec2_under(Spell.ANSWERS_LOST, 20)
        rehearsal.run("2s")
        rehearsal.crash()
        rehearsal.restart(after=5)
        rehearsal.run("3m")
        rehearsal.scale("inflate", 60)
        rehearsal.run("3m")

        launches = {
            span.attributes["treenail.nodeclaim.name"]: (span.context.trace_id, span.context.span_id)
            for span in rehearsal.telemetry.spans()
            if span.name == "launch"
        }
        launched = [line.fields for line in rehearsal.telemetry.logs if line.message == "launched machine"]
        assert {line["machine"] for line in launched} == launches.keys()
        for line in launched:
            assert (line.get("trace_id"), line.get("span_id")) == launches[line["machine"]]
        others = {"created machine", "launched instance", "launch step is tried again", "resuming launch"}
        told_of = [line for line in rehearsal.telemetry.logs if line.message in others]
        assert {line.message for line in told_of} == others
        assert {line.fields.get("span_id") for line in told_of} <= {span for _, span in launches.values()}
