from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.ec2.discovery.account import Account
from treenail.adapters.ec2.launch.template import Template
from treenail.adapters.ec2.launch.templates import Templates
from treenail.domain.model.errors import InvalidError

DESCRIBE, CREATE, DELETE = (
    f"ec2.{verb}_launch_template{end}" for verb, end in (("describe", "s"), ("create", ""), ("delete", ""))
)
ONE = Template(name="treenail.sh/1", data={"UserData": "eA=="}, tags={"b": "2", "a": "1"})
HALF_AN_HOUR = 1800.0


def templates(account: Account, *there: str) -> Templates:
    account.answers(
        DESCRIBE,
        {"LaunchTemplates": [{"LaunchTemplateName": name} for name in there]},
        Filters=[{"Name": "tag:eks:eks-cluster-name", "Values": ["demo"]}],
        MaxResults=200,
    )
    return Templates(account.aws, account.time, "demo")


def creates(account: Account) -> None:
    account.answers(
        CREATE,
        {},
        LaunchTemplateName="treenail.sh/1",
        LaunchTemplateData={"UserData": "eA=="},
        TagSpecifications=[
            {
                "ResourceType": "launch-template",
                "Tags": [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}],
            }
        ],
    )


def test_a_template_is_made_once(account: Account) -> None:
    known = templates(account)
    creates(account)

    known.ensure([ONE])
    known.ensure([ONE])


def test_that_a_template_was_made_is_told(account: Account) -> None:
    templates(account)
    creates(account)

    Templates(account.aws, account.time, "demo", account.caches.log).ensure([ONE])

    fields = {"logger": "controller.provisioner.cloudprovider", "launch_template_name": "treenail.sh/1"}
    assert account.lines == [("created launch template", fields)]


def test_one_that_a_process_before_made_is_used(account: Account) -> None:
    templates(account, "treenail.sh/1").ensure([ONE])


def test_one_that_is_there_in_spite_of_the_listing_is_used(account: Account) -> None:
    known = templates(account)
    account.refuses(CREATE, "InvalidLaunchTemplateName.AlreadyExistsException")

    known.ensure([ONE])
    known.ensure([ONE])


def test_one_that_cannot_be_made_is_told(account: Account) -> None:
    known = templates(account)
    account.refuses(CREATE, "UnauthorizedOperation", status=403)

    with pytest.raises(InvalidError, match="UnauthorizedOperation"):
        known.ensure([ONE])


def test_one_that_is_said_to_be_gone_is_made_again(account: Account) -> None:
    known = templates(account, "treenail.sh/1")
    known.ensure([ONE])
    known.forget(["treenail.sh/1"])
    creates(account)

    known.ensure([ONE])


def test_one_unused_for_half_an_hour_is_deleted(account: Account) -> None:
    known = templates(account)
    creates(account)
    known.ensure([ONE])
    account.time.seconds = HALF_AN_HOUR - 1
    known.tidy()
    account.answers(DELETE, {}, LaunchTemplateName="treenail.sh/1")
    account.time.seconds = HALF_AN_HOUR

    known.tidy()
    known.tidy()


def test_one_unused_for_two_minutes_is_deleted_where_the_cluster_has_no_instances(account: Account) -> None:
    known = templates(account)
    creates(account)
    known.ensure([ONE])
    account.time.seconds = 119.0
    known.tidy(idle=True)
    account.time.seconds = 120.0
    known.tidy()
    account.answers(DELETE, {}, LaunchTemplateName="treenail.sh/1")

    known.tidy(idle=True)


def test_those_left_by_processes_before_are_found_though_nothing_is_launched(account: Account) -> None:
    known = templates(account, "treenail.sh/1")
    known.tidy(idle=True)
    account.answers(DELETE, {}, LaunchTemplateName="treenail.sh/1")
    account.time.seconds = 120.0

    known.tidy(idle=True)


def test_a_look_that_fails_is_taken_another_time(account: Account) -> None:
    account.refuses(DESCRIBE, "UnauthorizedOperation", status=403)
    known = templates(account, "treenail.sh/1")
    known.tidy(idle=True)

    known.tidy(idle=True)
    known.ensure([ONE])


def test_use_keeps_a_template(account: Account) -> None:
    known = templates(account, "treenail.sh/1")
    known.ensure([ONE])
    account.time.seconds = HALF_AN_HOUR - 1
    known.ensure([ONE])
    account.time.seconds = HALF_AN_HOUR

    known.tidy()


def test_those_left_by_processes_before_are_deleted_and_those_of_others_are_not(account: Account) -> None:
    known = templates(account, "treenail.sh/1", "treenail.sh/2", "karpenter.k8s.aws/3", "theirs")
    account.time.seconds = 1.0
    known.ensure([ONE])
    account.time.seconds = HALF_AN_HOUR + 1.0
    for name in ("treenail.sh/1", "treenail.sh/2"):
        account.answers(DELETE, {}, LaunchTemplateName=name)

    known.tidy()


def test_deletions_that_fail_are_tried_again_later_unless_somebody_was_faster(account: Account) -> None:
    known = templates(account, "treenail.sh/1", "treenail.sh/2")
    known.ensure([ONE])
    account.time.seconds = HALF_AN_HOUR
    account.refuses(DELETE, "UnauthorizedOperation", status=403)
    account.refuses(DELETE, "InvalidLaunchTemplateName.NotFoundException")
    known.tidy()
    account.answers(DELETE, {}, LaunchTemplateName="treenail.sh/1")
    known.tidy()
    account.time.seconds = 2 * HALF_AN_HOUR

    known.tidy()


def test_no_more_than_five_are_deleted_at_once(account: Account) -> None:
    known = templates(account, "treenail.sh/1", *(f"treenail.sh/{n}" for n in range(2, 9)))
    known.ensure([ONE])
    account.time.seconds = HALF_AN_HOUR
    for n in range(1, 6):
        account.answers(DELETE, {}, LaunchTemplateName=f"treenail.sh/{n}")

    known.tidy()


def test_those_of_a_node_class_that_goes_are_deleted_at_once(account: Account) -> None:
    known = templates(account)
    creates(account)
    known.ensure([ONE])
    theirs = {
        "LaunchTemplates": [{"LaunchTemplateName": name} for name in ("treenail.sh/1", "treenail.sh/2")]
    }
    account.answers(
        DESCRIBE,
        theirs,
        Filters=[
            {"Name": "tag:eks:eks-cluster-name", "Values": ["demo"]},
            {"Name": "tag:karpenter.k8s.aws/ec2nodeclass", "Values": ["default"]},
        ],
        MaxResults=200,
    )
    account.answers(DELETE, {}, LaunchTemplateName="treenail.sh/1")
    account.refuses(DELETE, "InvalidLaunchTemplateName.NotFoundException")

    known.release("default")

    # It is known not to be there.
    creates(account)
    known.ensure([ONE])


def test_one_of_a_node_class_that_cannot_be_deleted_is_told(account: Account) -> None:
    known = Templates(account.aws, account.time, "demo")
    account.answers(DESCRIBE, {"LaunchTemplates": [{"LaunchTemplateName": "treenail.sh/1"}]})
    account.refuses(DELETE, "UnauthorizedOperation", status=403)

    with pytest.raises(InvalidError, match="UnauthorizedOperation"):
        known.release("default")


def test_after_one_could_not_be_made_a_single_one_is_tried_for_all(account: Account) -> None:
    known = templates(account)
    account.refuses(CREATE, "UnauthorizedOperation", status=403)
    with pytest.raises(InvalidError):
        known.ensure([ONE])

    account.refuses(CREATE, "UnauthorizedOperation", status=403)
    # Were the others tried too, the account would be asked for more than it was told of.
    with pytest.raises(InvalidError):
        known.ensure([ONE, replace(ONE, name="treenail.sh/2"), replace(ONE, name="treenail.sh/3")])
