"""Who takes the controller's role over can do with it what the controller does for its cluster, and no more.

Each statement is shown what the controller asks by it, which must be allowed, and what a thief would ask,
which must not be. A request is allowed where each of its checks is. Where it is not documented which
condition keys a check has, the thief is given them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tests.builders import node_class
from tests.cloudformation import controller_statements, listed
from tests.iam_policies import ACCOUNT, CLUSTER, REGION, Check, Context, allowing, resolved_statements
from treenail.domain.model.fleets import CLUSTER_TAG
from treenail.domain.status.managed_profiles import profile_path, profile_tags

OTHER = "other"
REGION_TAG = "topology.kubernetes.io/region"
EC2 = f"arn:aws:ec2:{REGION}"
IAM = f"arn:aws:iam::{ACCOUNT}"
PROFILE = f"{IAM}:instance-profile/karpenter/{REGION}/{CLUSTER}/some-uid/profile"
_PROFILES = f"{IAM}:instance-profile/karpenter"
FOREIGN_PROFILES = {
    "of another cluster": f"{_PROFILES}/{REGION}/{OTHER}/some-uid/profile",
    "of one whose name begins alike": f"{_PROFILES}/{REGION}/{CLUSTER}-2/some-uid/profile",
    "of another region": f"{_PROFILES}/eu-west-1/{CLUSTER}/some-uid/profile",
    "of nobody": f"{IAM}:instance-profile/admin",
}
NODE_ROLE = f"{IAM}:role/KarpenterNodeRole-{CLUSTER}"
ADMIN_ROLE = f"{IAM}:role/admin"
PROFILE_CHANGES = ("AddRoleToInstanceProfile", "RemoveRoleFromInstanceProfile", "DeleteInstanceProfile")
CREATED = ("fleet", "instance", "network-interface", "spot-instances-request", "volume")
IN_REGION = {"aws:RequestedRegion": REGION}


def own(kind: str, *, region: str = REGION) -> str:
    owner = "" if kind in ("image", "snapshot") else ACCOUNT
    return f"arn:aws:ec2:{region}:{owner}:{kind}/some-id"


def bearing(cluster: str, *, region: str = REGION) -> dict[str, str]:
    """Return what a request says of a resource that bears the tags of a cluster."""
    return {f"aws:ResourceTag/{CLUSTER_TAG}": cluster, f"aws:ResourceTag/{REGION_TAG}": region}


def asking(cluster: str, *, region: str = REGION, **more: str) -> dict[str, object]:
    """Return what a request says that gives the tags of a cluster."""
    tags = {CLUSTER_TAG: cluster, REGION_TAG: region, **more}
    return {**{f"aws:RequestTag/{k}": v for k, v in tags.items()}, "aws:TagKeys": sorted(tags)}


def check(action: str, resource: str, *contexts: Mapping[str, object]) -> Check:
    context: dict[str, object] = dict(IN_REGION)
    for one in contexts:
        context |= one
    known: Context = context  # type: ignore[assignment]
    return Check(action=action, resource=resource, context=known)


def shifts_of(cluster: str) -> Mapping[str, object]:
    """Return what a call that asks for the zonal shifts of a cluster says of itself."""
    return {"arc-zonal-shift:ResourceIdentifier": f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/{cluster}"}


def created(action: str, kinds: tuple[str, ...], cluster: str) -> tuple[Check, ...]:
    """Return the checks of what a call makes with the tags of a cluster: the making, and the tagging."""
    name = action.removeprefix("ec2:")
    making = tuple(check(action, own(kind), asking(cluster)) for kind in kinds)
    tagging = tuple(
        check("ec2:CreateTags", own(kind), asking(cluster), {"ec2:CreateAction": name}) for kind in kinds
    )
    return making + tagging


def launch(action: str, *, cluster: str, template: Mapping[str, object]) -> tuple[Check, ...]:
    """Return the checks of a launch by a template: what it uses, and what it makes."""
    uses = ("image", "snapshot", "subnet", "security-group", "capacity-reservation", "placement-group")
    return (
        *(check(action, own(kind)) for kind in uses),
        check(action, own("launch-template"), template, asking(cluster)),
        *created(action, CREATED, cluster),
    )


def profile_made(cluster: str, *, region: str = REGION) -> tuple[Check, ...]:
    """Return the checks of a new profile: AWS may ask for its tagging too, of what bears the tags then."""
    tags = asking(cluster, region=region)
    born = bearing(cluster, region=region)
    return (
        check("iam:CreateInstanceProfile", PROFILE, tags),
        check("iam:TagInstanceProfile", PROFILE, tags, born),
    )


def passing(role: str, service: str = "ec2.amazonaws.com") -> Check:
    return check("iam:PassRole", role, {"iam:PassedToService": service})


@dataclass(frozen=True, kw_only=True)
class Case:
    """What a statement is for, and what it must not be of use for."""

    sid: str
    lawful: tuple[Check, ...]
    attacks: Mapping[str, tuple[Check, ...]]


CASES = (
    Case(
        sid="LookAtTheRegion",
        lawful=(check("ec2:DescribeInstances", "*"),),
        attacks={
            "in another region": (check("ec2:DescribeInstances", "*", {"aws:RequestedRegion": "eu-west-1"}),),
            "what instances are started with": (check("ec2:DescribeInstanceAttribute", own("instance")),),
        },
    ),
    Case(
        sid="LookAtImagesThatArePublished",
        lawful=(check("ssm:GetParameter", f"arn:aws:ssm:{REGION}::parameter/aws/service/eks/x"),),
        attacks={
            "a secret of the account": (
                check("ssm:GetParameter", f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/password"),
            ),
            "a command on an instance": (check("ssm:SendCommand", own("instance")),),
        },
    ),
    Case(
        sid="LookAtPrices",
        lawful=(check("pricing:GetProducts", "*"),),
        attacks={"what the account pays": (check("ce:GetCostAndUsage", "*"),)},
    ),
    Case(
        sid="LookAtTheCluster",
        lawful=(check("eks:DescribeCluster", f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/{CLUSTER}"),),
        attacks={
            "another cluster": (
                check("eks:DescribeCluster", f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/{OTHER}"),
            ),
            "one whose name begins alike": (
                check("eks:DescribeCluster", f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/{CLUSTER}-2"),
            ),
            "let somebody in": (
                check("eks:CreateAccessEntry", f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/{CLUSTER}"),
            ),
        },
    ),
    Case(
        sid="LookAtTheClustersZonalShifts",
        lawful=(check("arc-zonal-shift:GetManagedResource", "*", shifts_of(CLUSTER)),),
        attacks={
            "another cluster's": (check("arc-zonal-shift:GetManagedResource", "*", shifts_of(OTHER)),),
            "begin one": (check("arc-zonal-shift:StartZonalShift", "*", shifts_of(CLUSTER)),),
        },
    ),
    Case(
        sid="LaunchWithWhatIsThere",
        lawful=launch("ec2:CreateFleet", cluster=CLUSTER, template=bearing(CLUSTER)),
        attacks={
            "without tags": (
                check("ec2:RunInstances", own("subnet")),
                check("ec2:RunInstances", own("instance")),
            ),
            "in another region": (check("ec2:RunInstances", own("subnet", region="eu-west-1")),),
        },
    ),
    Case(
        sid="LaunchByTheClustersTemplates",
        lawful=launch("ec2:RunInstances", cluster=CLUSTER, template=bearing(CLUSTER)),
        attacks={
            "by a template of another cluster": launch(
                "ec2:RunInstances", cluster=CLUSTER, template=bearing(OTHER)
            ),
            "by a template without tags": launch("ec2:CreateFleet", cluster=CLUSTER, template={}),
            "a new version of it": (
                check("ec2:CreateLaunchTemplateVersion", own("launch-template"), bearing(CLUSTER)),
            ),
        },
    ),
    Case(
        sid="LaunchWhatBearsTheClustersTag",
        lawful=launch("ec2:CreateFleet", cluster=CLUSTER, template=bearing(CLUSTER)),
        attacks={
            "in the name of another cluster": launch(
                "ec2:CreateFleet", cluster=OTHER, template=bearing(CLUSTER)
            ),
        },
    ),
    Case(
        sid="MakeTemplatesThatBearTheClustersTag",
        lawful=created("ec2:CreateLaunchTemplate", ("launch-template",), CLUSTER),
        attacks={
            "in the name of another cluster": created(
                "ec2:CreateLaunchTemplate", ("launch-template",), OTHER
            ),
            "without tags": (check("ec2:CreateLaunchTemplate", own("launch-template")),),
        },
    ),
    Case(
        sid="TagWhatIsLaunched",
        lawful=created("ec2:CreateFleet", CREATED, CLUSTER),
        attacks={
            **{
                f"a {kind} that is there": (
                    check("ec2:CreateTags", own(kind), asking(CLUSTER), bearing(OTHER)),
                )
                for kind in (*CREATED, "launch-template", "subnet", "security-group", "image")
            },
            "by another making": (
                check(
                    "ec2:CreateTags",
                    own("volume"),
                    asking(CLUSTER),
                    {"ec2:CreateAction": "CreateVolume"},
                ),
            ),
            "what is made, as another cluster's": created("ec2:RunInstances", CREATED, OTHER),
            "take tags off": (check("ec2:DeleteTags", own("instance"), bearing(OTHER)),),
        },
    ),
    Case(
        sid="NameInstancesAfterTheirNodes",
        lawful=(
            check(
                "ec2:CreateTags",
                own("instance"),
                bearing(CLUSTER),
                {"aws:TagKeys": ["Name", "karpenter.sh/nodeclaim"], "aws:RequestTag/Name": "node"},
            ),
        ),
        attacks={
            "an instance of another cluster": (
                check("ec2:CreateTags", own("instance"), bearing(OTHER), {"aws:TagKeys": ["Name"]}),
            ),
            "an instance without tags": (
                check("ec2:CreateTags", own("instance"), {"aws:TagKeys": ["Name"]}),
            ),
            "give its own away": (check("ec2:CreateTags", own("instance"), bearing(CLUSTER), asking(OTHER)),),
            "a volume": (
                check("ec2:CreateTags", own("volume"), bearing(CLUSTER), {"aws:TagKeys": ["Name"]}),
            ),
        },
    ),
    Case(
        sid="GiveBack",
        lawful=(
            check("ec2:TerminateInstances", own("instance"), bearing(CLUSTER)),
            check("ec2:DeleteLaunchTemplate", own("launch-template"), bearing(CLUSTER)),
        ),
        attacks={
            "an instance of another cluster": (
                check("ec2:TerminateInstances", own("instance"), bearing(OTHER)),
            ),
            "an instance without tags": (check("ec2:TerminateInstances", own("instance")),),
            "an instance, saying that it is the cluster's": (
                check("ec2:TerminateInstances", own("instance"), bearing(OTHER), asking(CLUSTER)),
            ),
            "an instance of another region": (
                check("ec2:TerminateInstances", own("instance", region="eu-west-1"), bearing(CLUSTER)),
            ),
            "a template of another cluster": (
                check("ec2:DeleteLaunchTemplate", own("launch-template"), bearing(OTHER)),
            ),
            "stop an instance": (check("ec2:StopInstances", own("instance"), bearing(CLUSTER)),),
        },
    ),
    Case(
        sid="GiveNodesTheirRole",
        lawful=(passing(NODE_ROLE),),
        attacks={
            "a role of more power": (passing(ADMIN_ROLE),),
            "the nodes' role of another cluster": (passing(f"{IAM}:role/KarpenterNodeRole-{OTHER}"),),
            "to another service": (passing(NODE_ROLE, "lambda.amazonaws.com"),),
            "without a service": (check("iam:PassRole", NODE_ROLE),),
            "take a role on": (check("sts:AssumeRole", ADMIN_ROLE),),
        },
    ),
    Case(
        sid="LookAtInstanceProfiles",
        lawful=(
            check("iam:GetInstanceProfile", PROFILE),
            check("iam:ListInstanceProfiles", f"{IAM}:instance-profile/"),
        ),
        attacks={"a role": (check("iam:GetRole", NODE_ROLE),)},
    ),
    Case(
        sid="MakeInstanceProfilesThatBearTheClustersTag",
        lawful=profile_made(CLUSTER),
        attacks={
            "in the name of another cluster": profile_made(OTHER),
            "in the name of another region's": profile_made(CLUSTER, region="eu-west-1"),
            "without tags": (check("iam:CreateInstanceProfile", PROFILE),),
            **{
                f"by the name {whose}": (check("iam:CreateInstanceProfile", profile, asking(CLUSTER)),)
                for whose, profile in FOREIGN_PROFILES.items()
            },
        },
    ),
    Case(
        sid="TagTheClustersInstanceProfiles",
        lawful=profile_made(CLUSTER),
        attacks={
            **{
                f"a profile {whose}": (
                    check("iam:TagInstanceProfile", profile, asking(CLUSTER), bearing(CLUSTER)),
                )
                for whose, profile in FOREIGN_PROFILES.items()
            },
            "a profile with tags of another cluster": (
                check("iam:TagInstanceProfile", PROFILE, asking(CLUSTER), bearing(OTHER)),
            ),
            "a profile with tags of another region": (
                check(
                    "iam:TagInstanceProfile",
                    PROFILE,
                    asking(CLUSTER),
                    bearing(CLUSTER, region="eu-west-1"),
                ),
            ),
            "a profile without tags": (check("iam:TagInstanceProfile", PROFILE, asking(CLUSTER)),),
            "give its own away": (check("iam:TagInstanceProfile", PROFILE, asking(OTHER), bearing(CLUSTER)),),
            "take tags off": (check("iam:UntagInstanceProfile", PROFILE, bearing(CLUSTER)),),
        },
    ),
    Case(
        sid="ChangeTheClustersInstanceProfiles",
        lawful=(
            check("iam:AddRoleToInstanceProfile", PROFILE, bearing(CLUSTER)),
            passing(NODE_ROLE),
            check("iam:RemoveRoleFromInstanceProfile", PROFILE, bearing(CLUSTER)),
            check("iam:DeleteInstanceProfile", PROFILE, bearing(CLUSTER)),
        ),
        attacks={
            **{
                f"{action} {whose}": (check(f"iam:{action}", profile, asking(CLUSTER), bearing(CLUSTER)),)
                for action in PROFILE_CHANGES
                for whose, profile in FOREIGN_PROFILES.items()
            },
            **{
                f"{action} with tags of {whose}": (check(f"iam:{action}", PROFILE, asking(CLUSTER), tags),)
                for action in PROFILE_CHANGES
                for whose, tags in (
                    ("another cluster", bearing(OTHER)),
                    ("another region", bearing(CLUSTER, region="eu-west-1")),
                    ("nobody", {}),
                )
            },
            "give its own a role of more power": (
                check("iam:AddRoleToInstanceProfile", PROFILE, bearing(CLUSTER)),
                passing(ADMIN_ROLE),
            ),
        },
    ),
    Case(
        sid="HearOfInterruptions",
        lawful=(check("sqs:ReceiveMessage", f"arn:aws:sqs:{REGION}:{ACCOUNT}:{CLUSTER}"),),
        attacks={
            "the queue of another cluster": (
                check("sqs:ReceiveMessage", f"arn:aws:sqs:{REGION}:{ACCOUNT}:{OTHER}"),
            ),
            "say that instances are taken": (
                check("sqs:SendMessage", f"arn:aws:sqs:{REGION}:{ACCOUNT}:{CLUSTER}"),
            ),
            "have no messages": (check("sqs:PurgeQueue", f"arn:aws:sqs:{REGION}:{ACCOUNT}:{CLUSTER}"),),
        },
    ),
)
ATTACKS = [
    pytest.param(case, attack, id=f"{case.sid}: {attack}") for case in CASES for attack in case.attacks
]


def allowed(checks: tuple[Check, ...]) -> bool:
    return all(allowing(one) for one in checks)


def test_every_statement_is_attacked() -> None:
    assert [case.sid for case in CASES] == [one["Sid"] for one in controller_statements()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.sid)
def test_what_the_controller_does_is_allowed(case: Case) -> None:
    assert [one for one in case.lawful if not allowing(one)] == []
    assert case.sid in {sid for one in case.lawful for sid in allowing(one)}


@pytest.mark.parametrize(("case", "attack"), ATTACKS)
def test_what_a_thief_would_do_is_not(case: Case, attack: str) -> None:
    assert not allowed(case.attacks[attack])


def test_nothing_that_is_there_comes_to_bear_the_clusters_tag() -> None:
    """Whatever is asked of a resource of another cluster, or of nobody, it does not change its tags."""
    actions = {action for one in controller_statements() for action in listed(one["Action"])}
    tagging = sorted(action for action in actions if re.search("Tag", action))
    kinds = [own(kind) for kind in (*CREATED, "launch-template", "subnet")]

    assert tagging == ["ec2:CreateTags", "iam:TagInstanceProfile"]
    for action in tagging:
        for resource in (*kinds, PROFILE, *FOREIGN_PROFILES.values()):
            for tags in (bearing(OTHER), {}):
                assert not allowing(check(action, resource, asking(CLUSTER), tags))


def test_a_profile_is_made_where_and_with_the_tags_that_the_policy_asks_for() -> None:
    made = node_class()
    tags = profile_tags(CLUSTER, REGION, made)
    arn = f"{IAM}:instance-profile{profile_path(CLUSTER, REGION, made)}name"
    asked = {f"aws:RequestTag/{key}": value for key, value in tags.items()}

    assert allowing(check("iam:CreateInstanceProfile", arn, asked))


def test_an_action_is_allowed_as_it_is_written_and_by_its_wildcards() -> None:
    statements = [{"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}]

    assert allowing(Check(action="EC2:describeInstances", resource="x"), statements)
    assert not allowing(Check(action="ec2:RunInstances", resource="x"), statements)


def test_a_denial_outweighs_what_allows() -> None:
    allow = {"Sid": "a", "Effect": "Allow", "Action": "*", "Resource": "*"}
    deny = {"Sid": "d", "Effect": "Deny", "Action": "ec2:*", "Resource": "arn:?:x"}

    assert allowing(Check(action="ec2:X", resource="arn:1:y"), [allow, deny]) == ("a",)
    assert allowing(Check(action="ec2:X", resource="arn:1:x"), [allow, deny]) == ()


@pytest.mark.parametrize(
    ("condition", "context", "holds"),
    [
        ({"StringEquals": {"k": "a"}}, {"k": "a"}, True),
        ({"StringEquals": {"k": "a"}}, {"K": "a"}, True),
        ({"StringEquals": {"k": "a"}}, {"k": "A"}, False),
        ({"StringEquals": {"k": "a*"}}, {"k": "ab"}, False),
        ({"StringEquals": {"k": ["a", "b"]}}, {"k": "b"}, True),
        ({"StringEquals": {"k": "a"}}, {}, False),
        ({"StringEqualsIfExists": {"k": "a"}}, {}, True),
        ({"StringEquals": {"k": "a", "l": "b"}}, {"k": "a"}, False),
        ({"StringLike": {"k": "a*"}}, {"k": "ab"}, True),
        ({"StringLike": {"k": "a.*"}}, {"k": "ab"}, False),
        ({"StringLike": {"k": "*"}}, {}, False),
        ({"Null": {"k": "true"}}, {}, True),
        ({"Null": {"k": "false"}}, {}, False),
        ({"ForAllValues:StringEquals": {"k": ["a", "b"]}}, {"k": ["a"]}, True),
        ({"ForAllValues:StringEquals": {"k": ["a", "b"]}}, {"k": ["a", "c"]}, False),
        ({"ForAllValues:StringEquals": {"k": ["a", "b"]}}, {}, True),
        ({"ForAnyValue:StringEquals": {"k": ["a"]}}, {"k": ["c", "a"]}, True),
        ({"ForAnyValue:StringEquals": {"k": ["a"]}}, {}, False),
    ],
)
def test_conditions_hold_as_iam_says(
    condition: Mapping[str, Mapping[str, object]], context: Context, *, holds: bool
) -> None:
    statement = {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": condition}

    assert bool(allowing(Check(action="a:b", resource="c", context=context), [statement])) is holds


@pytest.mark.parametrize(
    "statement",
    [
        {"Effect": "Allow", "NotAction": "a", "Action": "*", "Resource": "*"},
        {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"IpAddress": {"k": "a"}}},
        {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"StringEquals": {"k": "a"}}},
    ],
)
def test_what_is_not_understood_of_a_policy_is_an_error(statement: Mapping[str, object]) -> None:
    with pytest.raises(ValueError, match=r"not understood|several values"):
        allowing(Check(action="a:b", resource="c", context={"k": ["a", "b"]}), [statement])


def test_every_reference_of_the_policy_is_resolved() -> None:
    assert "Fn::" not in str(resolved_statements())
    assert "${" not in str(resolved_statements())
