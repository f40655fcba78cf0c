from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.adapters.ec2.discovery.account import REF, Account
from treenail.adapters.ec2.launch.profiles import Profiles
from treenail.domain.model.errors import NodeClassNotReadyError, UnavailableError
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.status.managed_profiles import profile_name

OF_ROLE = NodeClass(ref=REF, uid="uid-1", role="path/to/nodes", tags={"team": "web"})
NAME = profile_name("demo", "us-east-1", OF_ROLE)
PATH = "/karpenter/us-east-1/demo/uid-1/"
GET, CREATE, ADD, REMOVE, DELETE, LIST = (
    "iam.get_instance_profile",
    "iam.create_instance_profile",
    "iam.add_role_to_instance_profile",
    "iam.remove_role_from_instance_profile",
    "iam.delete_instance_profile",
    "iam.list_instance_profiles",
)


def profiles(account: Account, **settings: Any) -> Profiles:
    return Profiles(account.aws, account.time, cluster="demo", **settings)


def role(name: str) -> dict[str, Any]:
    return {
        "Path": "/",
        "RoleName": name,
        "RoleId": "A" * 16,
        "Arn": f"arn:aws:iam::123456789012:role/{name}",
        "CreateDate": datetime(2026, 1, 1, tzinfo=UTC),
    }


def stored(
    account: Account, name: str = NAME, *roles: str, path: str = PATH, age: float = 7200
) -> dict[str, Any]:
    return {
        "Path": path,
        "InstanceProfileName": name,
        "InstanceProfileId": "A" * 16,
        "Arn": f"arn:aws:iam::123456789012:instance-profile{path}{name}",
        "CreateDate": account.time.now() - timedelta(seconds=age),
        "Roles": [role(one) for one in roles],
    }


def test_the_profile_of_a_role_is_made_where_it_is_not_there_and_remembered(account: Account) -> None:
    account.refuses(GET, "NoSuchEntity", status=404)
    tags = {
        "team": "web",
        "kubernetes.io/cluster/demo": "owned",
        "eks:eks-cluster-name": "demo",
        "karpenter.k8s.aws/ec2nodeclass": "default",
        "topology.kubernetes.io/region": "us-east-1",
    }
    account.answers(
        CREATE,
        {"InstanceProfile": stored(account)},
        InstanceProfileName=NAME,
        Path=PATH,
        Tags=[{"Key": key, "Value": tags[key]} for key in sorted(tags)],
    )
    account.answers(ADD, {}, InstanceProfileName=NAME, RoleName="nodes")
    known = profiles(account)

    assert [known.of(OF_ROLE), known.of(OF_ROLE)] == [NAME, NAME]
    assert NAME.startswith("demo_")


def test_a_profile_that_is_there_with_its_role_is_taken_as_it_is(account: Account) -> None:
    account.answers(GET, {"InstanceProfile": stored(account, NAME, "nodes")}, InstanceProfileName=NAME)

    assert profiles(account).of(OF_ROLE) == NAME


def test_another_role_in_the_profile_gives_way(account: Account) -> None:
    account.answers(GET, {"InstanceProfile": stored(account, NAME, "other")})
    account.answers(REMOVE, {}, InstanceProfileName=NAME, RoleName="other")
    account.answers(ADD, {}, InstanceProfileName=NAME, RoleName="nodes")

    assert profiles(account).of(OF_ROLE) == NAME


def test_another_role_of_the_class_means_another_profile(account: Account) -> None:
    other = profile_name("demo", "us-east-1", replace(OF_ROLE, role="others"))
    for name, borne in ((NAME, "nodes"), (other, "others")):
        account.answers(GET, {"InstanceProfile": stored(account, name, borne)}, InstanceProfileName=name)
    known = profiles(account)

    assert [known.of(OF_ROLE), known.of(replace(OF_ROLE, role="others"))] == [NAME, other]


def test_a_role_that_is_not_there_is_named_and_looked_for_again_after_a_minute(account: Account) -> None:
    missing = "The role with name nodes cannot be found."
    account.answers(GET, {"InstanceProfile": stored(account)})
    account.refuses(ADD, "NoSuchEntity", status=404, message=missing)
    known = profiles(account)

    for _ in range(3):
        with pytest.raises(NodeClassNotReadyError, match=r"spec\.role: there is no role nodes") as raised:
            known.of(OF_ROLE)
        assert raised.value.reason == "RoleNotFound"
    account.time.seconds += 61
    account.answers(GET, {"InstanceProfile": stored(account)})
    account.answers(ADD, {})

    assert known.of(OF_ROLE) == NAME


def test_a_profile_that_was_just_made_and_is_not_to_be_seen_yet_is_no_fault_of_the_class(
    account: Account,
) -> None:
    account.refuses(GET, "NoSuchEntity", status=404)
    account.answers(CREATE, {"InstanceProfile": stored(account)})
    unseen = f"Instance Profile {NAME} cannot be found."
    account.refuses(ADD, "NoSuchEntity", status=404, message=unseen)
    known = profiles(account)

    with pytest.raises(UnavailableError, match="not to be seen yet"):
        known.of(OF_ROLE)
    account.answers(GET, {"InstanceProfile": stored(account)})
    account.answers(ADD, {})

    assert known.of(OF_ROLE) == NAME


def test_a_profile_that_somebody_else_made_at_the_same_time_is_used(account: Account) -> None:
    account.refuses(GET, "NoSuchEntity", status=404)
    account.refuses(CREATE, "EntityAlreadyExists", status=409)
    account.answers(ADD, {})

    assert profiles(account).of(OF_ROLE) == NAME


def test_profiles_that_are_named_are_not_asked_for(account: Account) -> None:
    known = profiles(account, default="usual")

    assert known.of(NodeClass(ref=REF, instance_profile="own")) == "own"
    assert known.of(NodeClass(ref=REF)) == "usual"


def test_without_a_way_to_iam_a_role_is_not_enough(account: Account) -> None:
    known = profiles(account, isolated=True)

    with pytest.raises(NodeClassNotReadyError, match="isolated VPC"):
        known.of(OF_ROLE)
    known.release(OF_ROLE)
    assert known.collect((OF_ROLE,), ()) == ()


def test_a_class_that_goes_takes_the_profiles_of_all_its_roles_along(account: Account) -> None:
    first = {
        "InstanceProfiles": [stored(account, "demo_1", "nodes")],
        "IsTruncated": True,
        "Marker": "more",
    }
    last = {"InstanceProfiles": [stored(account, "demo_2")], "IsTruncated": False}
    account.answers(LIST, first, PathPrefix=PATH)
    account.answers(REMOVE, {}, InstanceProfileName="demo_1", RoleName="nodes")
    account.answers(DELETE, {}, InstanceProfileName="demo_1")
    account.answers(LIST, last, PathPrefix=PATH, Marker="more")
    account.refuses(DELETE, "NoSuchEntity", status=404)

    profiles(account).release(OF_ROLE)


def test_only_profiles_that_nobody_needs_are_collected(account: Account) -> None:
    gone = "/karpenter/us-east-1/demo/uid-0/"
    there = [
        stored(account, NAME, "nodes"),
        stored(account, "demo_7", "nodes", path=gone),
        stored(account, "demo_8", "nodes", path=gone),
        stored(account, "demo_9", "nodes", path=gone, age=3500),
        stored(account, "mine", "nodes", path="/karpenter/us-east-1/other/"),
    ]
    account.answers(
        LIST,
        {"InstanceProfiles": there, "IsTruncated": False},
        PathPrefix="/karpenter/us-east-1/demo/",
    )
    account.answers(REMOVE, {}, InstanceProfileName="demo_7", RoleName="nodes")
    account.answers(DELETE, {}, InstanceProfileName="demo_7")

    assert profiles(account).collect((OF_ROLE,), ("demo_8",)) == ("demo_7",)


def test_a_profile_is_kept_for_an_hour_after_its_class_needed_it(account: Account) -> None:
    account.answers(GET, {"InstanceProfile": stored(account, NAME, "nodes")})
    known = profiles(account)
    known.of(OF_ROLE)
    listed = {"InstanceProfiles": [stored(account, NAME, "nodes")], "IsTruncated": False}

    account.time.seconds += 3500
    account.answers(LIST, listed)
    assert known.collect((), ()) == ()
    account.time.seconds += 200
    account.answers(LIST, listed)
    account.answers(REMOVE, {})
    account.answers(DELETE, {})
    assert known.collect((), ()) == (NAME,)
