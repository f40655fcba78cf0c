"""Each trouble with AWS once over the wire: what is bought and given back through it, and what is left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Final, TypeVar

import pytest

from tests.adapters.ec2.refusals import SleptTime
from tests.probes import PlainDice
from tests.real.ec2.clouds import clients_of, cloud_of, request
from tests.real.lab.lab import Lab
from tests.real.sqs.reader import until
from treenail.adapters.ec2.call_retries import CallRetries
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.domain.model.errors import InvalidError, PortError, TooManyRequestsError, UnavailableError
from treenail.domain.model.fleets import Instance

T = TypeVar("T")

# How often something is tried before a test gives up: more often than any trouble here lasts.
TRIES: Final = 12
# Longer than a template is kept that nobody uses, in seconds.
LONG: Final = 2000.0
# The same where the cluster has no instances.
LONG_WHEN_IDLE: Final = 130.0
NO_PROFILE: Final = (
    "Value (KarpenterNodeRole-lab) for parameter iamInstanceProfile.name is invalid. "
    "Invalid IAM Instance Profile name"
)


def _no_templates(lab: Lab) -> None:
    _templates_gone(lab)
    lab.fault("ec2", "CreateLaunchTemplate", code="Unavailable", status=503, times=9)


def _templates_gone(lab: Lab) -> None:
    for name in template_names(lab):
        lab.client("ec2").delete_launch_template(LaunchTemplateName=name)


def _no_profile(lab: Lab) -> None:
    lab.fault("ec2", "CreateFleet", code="InvalidParameterValue", message=NO_PROFILE, times=3)


# Every fault is over after so many calls as its rule says.
TROUBLES: Final[Mapping[str, Callable[[Lab], None]]] = {
    "throttling": lambda lab: lab.fault("ec2", code="RequestLimitExceeded", status=503, times=6),
    "a burst of 5xx": lambda lab: lab.fault("ec2", code="InternalError", status=500, times=6),
    # The client waits 0.4 s, and gives up. What it asked for is done all the same.
    "slow answers": lambda lab: lab.fault("ec2", delay=0.7, times=5),
    "lost answers": lambda lab: lab.fault("ec2", after=True, cut=True, times=6),
    "hidden instances": lambda lab: lab.set_pace(hidden=1.5),
    "templates gone": _templates_gone,
    "no templates": _no_templates,
    "profile not to be seen yet": _no_profile,
}


def template_names(lab: Lab) -> list[str]:
    found = lab.client("ec2").describe_launch_templates()["LaunchTemplates"]
    return sorted(one["LaunchTemplateName"] for one in found)


def running(lab: Lab) -> list[str]:
    """Return the ids of all instances that are not on their way out."""
    pages = lab.client("ec2").get_paginator("describe_instances").paginate()
    found = [i for page in pages for r in page["Reservations"] for i in r["Instances"]]
    return sorted(i["InstanceId"] for i in found if i["State"]["Name"] in ("pending", "running"))


class Buyer:
    """Buys and gives back as the controller does: again by the same token, anew where the answer is no."""

    def __init__(self, lab: Lab) -> None:
        self.time = SleptTime()
        clients = replace(clients_of(lab), ec2=lab.client("ec2", read_timeout=0.4, connect_timeout=5))
        aws = Aws(clients, CallRetries(self.time, PlainDice(), sleep=self.time.sleep))
        self.cloud = cloud_of(lab, aws=aws, clock=self.time)
        self._calls = count(1)

    def buy(self, number: int) -> tuple[Instance, ...]:
        call = next(self._calls)
        for _ in range(TRIES):
            try:
                answer = self.cloud.launch(request(call=f"call-{call}", count=number))
            except (UnavailableError, TooManyRequestsError):
                self.time.sleep(20)
                continue
            except InvalidError:
                call = next(self._calls)
                continue
            if answer.instances:
                return answer.instances
            call = next(self._calls)
        raise AssertionError(f"nothing was bought in {TRIES} tries")

    def give_back(self, *ids: str) -> None:
        self._until_done(lambda: self.cloud.terminate(ids))

    def listed(self) -> list[str]:
        self.time.sleep(2)
        return [instance.id for instance in self._until_done(self.cloud.instances)]

    def _until_done(self, call: Callable[[], T]) -> T:
        for _ in range(TRIES):
            try:
                return call()
            except PortError:
                self.time.sleep(20)
        raise AssertionError(f"{TRIES} tries came to nothing")


@pytest.mark.parametrize("trouble", TROUBLES)
def test_what_is_bought_in_trouble_is_bought_once_and_can_be_given_back(lab: Lab, trouble: str) -> None:
    buyer = Buyer(lab)
    (before,) = buyer.buy(1)
    TROUBLES[trouble](lab)

    bought = buyer.buy(2)

    until(lambda: len(running(lab)) >= 3)
    assert running(lab) == sorted([before.id, *(one.id for one in bought)])
    assert buyer.listed() == running(lab)


@pytest.mark.parametrize("trouble", ["throttling", "a burst of 5xx", "slow answers", "lost answers"])
def test_what_is_given_back_in_trouble_is_gone_and_nothing_else_is(lab: Lab, trouble: str) -> None:
    buyer = Buyer(lab)
    kept, *others = buyer.buy(3)
    TROUBLES[trouble](lab)

    buyer.give_back(*(one.id for one in others))

    assert running(lab) == [kept.id]
    assert buyer.listed() == [kept.id]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_no_template_is_left_once_none_is_used(lab: Lab, trouble: str) -> None:
    buyer = Buyer(lab)
    TROUBLES[trouble](lab)
    bought = buyer.buy(2)
    assert len(template_names(lab)) == 1

    lab.clear_faults()
    buyer.give_back(*(one.id for one in bought))
    assert len(template_names(lab)) == 1
    buyer.time.sleep(LONG_WHEN_IDLE)
    buyer.listed()

    assert template_names(lab) == []
    assert running(lab) == []


def test_a_template_whose_deletion_fails_is_deleted_by_a_later_look(lab: Lab) -> None:
    buyer = Buyer(lab)
    buyer.buy(1)
    lab.fault("ec2", "DeleteLaunchTemplate", code="Unavailable", status=503, times=4)
    buyer.time.sleep(LONG)
    buyer.listed()
    assert len(template_names(lab)) == 1

    buyer.time.sleep(LONG)
    buyer.listed()

    assert template_names(lab) == []
