"""Of what goes wrong on request, and of what the laboratory notes about itself."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from tests.real.lab.lab import Lab, LabError
from tests.real.lab.launching import fleet, override, template


def code_of(call: Callable[[], object]) -> tuple[str, int]:
    with pytest.raises(ClientError) as refused:
        call()
    response = refused.value.response
    return response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]


def test_a_rule_hits_its_action_so_many_times_after_letting_some_pass(lab: Lab) -> None:
    ec2 = lab.client("ec2")
    lab.fault("ec2", "DescribeVpcs", code="InternalError", status=500, skip=1, times=1)

    ec2.describe_vpcs()
    ec2.describe_subnets()
    hit = code_of(ec2.describe_vpcs)
    ec2.describe_vpcs()

    assert hit == ("InternalError", 500)
    assert lab.calls() == {"ec2:DescribeVpcs": 3, "ec2:DescribeSubnets": 1}


def test_a_rule_can_look_for_something_in_the_request(lab: Lab) -> None:
    ec2 = lab.client("ec2")
    lab.fault("ec2", "DescribeVpcs", match="special", code="UnauthorizedOperation", status=403, times=None)

    ec2.describe_vpcs()

    special = [{"Name": "tag:special", "Values": ["x"]}]
    assert code_of(lambda: ec2.describe_vpcs(Filters=special)) == ("UnauthorizedOperation", 403)


def test_a_rule_by_chance_hits_some_and_lets_some_pass(lab: Lab) -> None:
    sts = lab.client("sts")
    lab.fault("sts", code="InternalFailure", status=500, prob=0.5, times=None)

    lost = 0
    for _ in range(40):
        try:
            sts.get_caller_identity()
        except ClientError:
            lost += 1

    assert 5 < lost < 35


@pytest.mark.parametrize("how", [{"code": "Unavailable", "status": 503}, {}])
def test_an_answer_can_be_lost_after_the_work_is_done(lab: Lab, how: dict[str, object]) -> None:
    chosen = template(lab)
    lab.fault("ec2", "CreateFleet", after=True, **how)

    _, status = code_of(lambda: fleet(lab, [override(lab, "c5.large")], template_id=chosen))

    assert status == 503
    assert len(lab.client("ec2").describe_instances()["Reservations"]) == 1


def test_a_connection_can_be_cut_at_once(lab: Lab) -> None:
    lab.fault("ec2", "DescribeVpcs", cut=True)

    began = time.monotonic()
    with pytest.raises(ConnectionClosedError):
        lab.client("ec2").describe_vpcs()

    assert time.monotonic() - began < 20


def test_an_answer_can_be_slow(lab: Lab) -> None:
    lab.fault("ec2", "DescribeVpcs", delay=1.0)

    began = time.monotonic()
    lab.client("ec2").describe_vpcs()

    assert time.monotonic() - began >= 1.0


def test_a_throttle_lets_a_burst_pass_and_refuses_the_rest(lab: Lab) -> None:
    ec2 = lab.client("ec2")
    lab.throttle("DescribeVpcs", rate=0.01, burst=2)

    ec2.describe_vpcs()
    ec2.describe_vpcs()

    assert code_of(ec2.describe_vpcs) == ("RequestLimitExceeded", 503)
    ec2.describe_subnets()


@pytest.mark.parametrize(
    ("service", "call"),
    [
        ("ec2", "describe_vpcs"),
        ("sqs", "list_queues"),
        ("iam", "list_roles"),
        ("eks", "list_clusters"),
        ("ssm", "describe_parameters"),
        ("events", "list_rules"),
        ("sts", "get_caller_identity"),
    ],
)
def test_in_an_outage_every_service_says_so_in_its_own_words(lab: Lab, service: str, call: str) -> None:
    client = lab.client(service)

    with lab.outage():
        assert code_of(getattr(client, call)) == ("ServiceUnavailable", 503)
    getattr(client, call)()


def test_a_reset_ends_faults_throttles_and_shortages(lab: Lab) -> None:
    lab.fault("ec2", code="InternalError", times=None)
    lab.throttle("DescribeVpcs", rate=0.01, burst=0)
    lab.run_out()
    before = lab.estate["vpc_id"]

    lab.reset()

    lab.client("ec2").describe_vpcs()
    assert lab.estate["vpc_id"] != before
    assert len(fleet(lab, [override(lab, "c5.large")])["Instances"]) == 1


def test_what_the_laboratory_cannot_do_is_noted_and_fails_the_test(lab: Lab) -> None:
    code = code_of(lambda: lab.client("ec2").describe_host_reservations())

    assert code == ("InternalError", 500)
    with pytest.raises(AssertionError, match="DescribeHostReservations"):
        lab.check()


def test_what_treenails_policy_does_not_allow_fails_the_test_where_its_clients_call_it(lab: Lab) -> None:
    lab.client("ec2").describe_vpcs()
    lab.check()

    lab.client("ec2", user_agent_extra="treenail").describe_vpcs()

    with pytest.raises(AssertionError, match=r"does not allow.*ec2:DescribeVpcs"):
        lab.check()


def test_a_control_that_does_not_exist_is_refused(lab: Lab) -> None:
    with pytest.raises(LabError, match="no_such"):
        lab.set_pace(no_such=1.0)
