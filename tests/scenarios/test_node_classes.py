from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.manifests import Manifest, changed, deployment, node_class, node_pool, text
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.nodes import Condition, Status, condition_of, holds

CLASS = ObjectRef(kind="EC2NodeClass", name="default")
POOL = ObjectRef(kind="NodePool", name="default")
FINALIZER = "karpenter.k8s.aws/termination"
PARTS = ("AMIsReady", "SubnetsReady", "SecurityGroupsReady", "InstanceProfileReady")
BOTTLEROCKET = [{"alias": "bottlerocket@latest"}]
Wrong = Callable[[Manifest], Manifest]


def with_spec(**fields: object) -> Wrong:
    return lambda good: {**good, "spec": {**good["spec"], **fields}}


# What is wrong, the condition that says so, its reason, and the beginning of its message.
BAD: dict[str, tuple[Wrong, str, str, str]] = {
    "no subnet": (
        with_spec(subnetSelectorTerms=[{"id": "subnet-0123456789abcdef0"}]),
        "SubnetsReady",
        "SubnetsNotFound",
        "spec.subnetSelectorTerms: its selector of subnets finds nothing",
    ),
    "no group": (
        with_spec(securityGroupSelectorTerms=[{"id": "sg-0123456789abcdef0"}]),
        "SecurityGroupsReady",
        "SecurityGroupsNotFound",
        "spec.securityGroupSelectorTerms: its selector of security groups finds nothing",
    ),
    "no image": (
        with_spec(amiFamily="AL2023", amiSelectorTerms=[{"id": "ami-0123456789abcdef0"}]),
        "AMIsReady",
        "AMINotFound",
        "spec.amiSelectorTerms: its selector of images finds nothing",
    ),
    "an unknown role": (
        with_spec(role="nobody"),
        "InstanceProfileReady",
        "RoleNotFound",
        "spec.role: there is no role nobody in IAM",
    ),
    "an unknown family": (
        with_spec(amiFamily="Solaris", amiSelectorTerms=[{"id": "ami-0123456789abcdef0"}]),
        "ValidationSucceeded",
        "NodeClassValidationFailed",
        "spec.amiFamily",
    ),
    "a tag that is reserved": (
        with_spec(tags={"karpenter.sh/nodepool": "mine"}),
        "ValidationSucceeded",
        "NodeClassValidationFailed",
        "spec.tags",
    ),
    "user data that is too large": (
        with_spec(userData="#" * 16_385),
        "ValidationSucceeded",
        "UserDataSizeLimitExceeded",
        "spec.userData: it has 16385 bytes",
    ),
    "user data nothing boots with": (
        with_spec(amiSelectorTerms=BOTTLEROCKET, userData="settings = {"),
        "ValidationSucceeded",
        "UserDataInvalid",
        "spec.userData: it is no TOML",
    ),
}


def shown(rehearsal: Rehearsal, kind: str) -> Condition:
    found = condition_of(rehearsal.cluster.conditions(CLASS), kind)
    assert found is not None
    return found


def warnings(rehearsal: Rehearsal) -> list[tuple[str, str]]:
    """Return reasons and messages of the warnings on the class."""
    return [
        (record.event.reason, record.event.message)
        for record in rehearsal.cluster.events()
        if record.event.about.kind == "EC2NodeClass" and record.event.warning
    ]


def apply(rehearsal: Rehearsal, path: Path, *manifests: Manifest) -> None:
    path.write_text(text(*manifests))
    rehearsal.apply_file(str(path))


@pytest.mark.parametrize("what", BAD)
def test_a_bad_node_class_says_why_on_itself_and_in_an_event_and_launches_nothing(
    what: str, tmp_path: Path
) -> None:
    spoil, kind, reason, message = BAD[what]
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.ec2.iam.delete_role("nobody")
        apply(rehearsal, tmp_path / "bad.yaml", spoil(node_class()), node_pool(), deployment(replicas=2))

        rehearsal.run("5m")

        condition, ready = shown(rehearsal, kind), shown(rehearsal, "Ready")
        assert (condition.status, condition.reason) == (Status.FALSE, reason)
        assert condition.message.startswith(message)
        assert ready.status is Status.FALSE
        assert len(warnings(rehearsal)) == 1
        assert warnings(rehearsal)[0][1] == condition.message
        assert not holds(rehearsal.cluster.conditions(POOL), "Ready")
        assert rehearsal.history() == ()
        assert rehearsal.cluster.claims() == ()

        rehearsal.apply(text(node_class()))
        rehearsal.run("3m")

        assert holds(rehearsal.cluster.conditions(CLASS), "Ready")
        assert rehearsal.running() == 2


def test_a_good_node_class_says_what_it_means() -> None:
    with Rehearsal(seed=2) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool()))
        rehearsal.run("10s")

        conditions = rehearsal.cluster.conditions(CLASS)
        assert [c.type for c in conditions] == [*PARTS, "ValidationSucceeded", "Ready"]
        assert all(c.status is Status.TRUE for c in conditions)
        meaning = rehearsal.cluster.meaning(CLASS)
        assert meaning is not None
        assert sorted(one.zone for one in meaning.subnets) == [one.zone for one in rehearsal.ec2.subnets]
        assert [one.id for one in meaning.security_groups] == [
            one.id for one in rehearsal.ec2.security_groups
        ]
        assert [one.requirements[0].single for one in meaning.images] == ["amd64", "arm64"]
        (profile,) = rehearsal.ec2.iam.all
        assert (meaning.instance_profile, profile.role) == (profile.name, "node")


def test_a_role_that_is_made_later_is_found() -> None:
    with Rehearsal(seed=3) as rehearsal:
        rehearsal.ec2.iam.delete_role("node")
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=2)))
        rehearsal.run("2m")
        assert shown(rehearsal, "InstanceProfileReady").reason == "RoleNotFound"

        rehearsal.ec2.iam.add_role("node")
        rehearsal.run("3m")

        assert holds(rehearsal.cluster.conditions(CLASS), "Ready")
        assert rehearsal.running() == 2


def test_another_role_means_another_profile_and_the_old_one_goes_when_no_instance_bears_it() -> None:
    undisturbed = changed(node_pool(), "spec.disruption.budgets", [{"nodes": "0", "reasons": ["Drifted"]}])
    with Rehearsal(seed=4) as rehearsal:
        rehearsal.apply(text(node_class(), undisturbed, deployment(replicas=2)))
        rehearsal.run("3m")
        rehearsal.apply(text(changed(node_class(), "spec.role", "other")))
        rehearsal.run("3h")
        roles = [profile.role for profile in rehearsal.ec2.iam.all]
        assert sorted(roles) == ["node", "other"]

        rehearsal.scale("web", 0)
        rehearsal.run("2h")

        assert [profile.role for profile in rehearsal.ec2.iam.all] == ["other"]


def test_a_node_class_goes_after_its_claims_and_with_its_profile() -> None:
    with Rehearsal(seed=5) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=2)))
        rehearsal.run("3m")
        (there,) = rehearsal.cluster.objects(NodeClass)
        assert there.finalizers == (FINALIZER,)

        rehearsal.cluster.delete("EC2NodeClass", "default")
        rehearsal.run("2m")
        assert [one.deleting for one in rehearsal.cluster.objects(NodeClass)] == [True]
        assert len(rehearsal.ec2.iam.all) == 1
        waits = [r.event for r in rehearsal.cluster.events() if r.event.about.kind == "EC2NodeClass"]
        assert [event.reason for event in waits] == ["WaitingOnNodeClaimTermination"]

        rehearsal.scale("web", 0)
        rehearsal.run("10m")

        assert rehearsal.cluster.objects(NodeClass) == ()
        assert len(rehearsal.ec2.iam.all) == 0
        assert rehearsal.cluster.claims() == ()


@pytest.mark.parametrize("action", ["CreateFleet", "RunInstances", "CreateLaunchTemplate"])
def test_a_class_that_may_not_be_launched_from_says_so_and_is_used_when_it_may(action: str) -> None:
    with Rehearsal(seed=6) as rehearsal:
        rehearsal.ec2.outside.forbid(action)
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=2)))
        rehearsal.run("3m")

        condition, ready = shown(rehearsal, "ValidationSucceeded"), shown(rehearsal, "Ready")
        assert (condition.status, condition.reason) == (Status.FALSE, f"{action}AuthCheckFailed")
        assert (ready.status, ready.reason) == (Status.FALSE, condition.reason)
        assert not holds(rehearsal.cluster.conditions(POOL), "Ready")
        assert (rehearsal.running(), rehearsal.claims()) == (0, ())

        rehearsal.ec2.outside.forbid(None)
        rehearsal.run("3m")

        assert holds(rehearsal.cluster.conditions(CLASS), "Ready")
        assert rehearsal.running() == 2
