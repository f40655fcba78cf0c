"""What every `Cloud` must do about launches, listings and terminations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import pytest

from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.fleets import CLUSTER_TAG, LAUNCH_TAG, FleetRequest, InstanceState, Override
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.ports import Cloud

# What the answer to a launch does not say, or says otherwise.
_LATER_KNOWN: Final = (
    *("tags", "launched_at", "node_name", "state"),
    *("subnet_id", "security_groups", "placement_group"),
)
_NOBODY: Final = "i-00000000000000000"


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudSubject:
    """A cloud without instances, and something that it sells on demand in a zone, at least three of it.

    `settle` lets enough time pass for what was done to be seen. `cluster` is the cluster it is asked by.
    """

    cloud: Cloud
    settle: Callable[[], None]
    node_class: NodeClass
    instance_type: str
    zone: str
    cluster: str = "demo"

    def request(self, *, call: str = "call-1", count: int = 1) -> FleetRequest:
        """Return a request for so many instances, with the token `call`."""
        return FleetRequest(
            token=call,
            node_class=self.node_class,
            capacity_type=labels.ON_DEMAND,
            overrides=(Override(self.instance_type, self.zone, 0.1),),
            count=count,
            labels={"team": "web"},
            kubelet=Kubelet(),
            tags={CLUSTER_TAG: self.cluster, LAUNCH_TAG: call, "owner": "us"},
        )


class CloudContract:
    """Derive a class whose name begins with Test, and give it a fixture `subject`, a `CloudSubject`."""

    def test_what_is_launched_is_what_was_asked_for(self, subject: CloudSubject) -> None:
        answer = subject.cloud.launch(subject.request(count=2))

        assert len({instance.id for instance in answer.instances}) == 2
        for instance in answer.instances:
            assert (instance.instance_type, instance.zone) == (subject.instance_type, subject.zone)
            assert instance.capacity_type == labels.ON_DEMAND
            assert instance.live
            assert instance.tags.items() >= subject.request().tags.items()
            assert 0 < instance.allocatable["memory"] <= instance.capacity["memory"]

    def test_a_call_made_again_with_its_token_buys_nothing_more(self, subject: CloudSubject) -> None:
        first = subject.cloud.launch(subject.request(count=2))
        subject.settle()

        again = subject.cloud.launch(subject.request(count=2))
        subject.settle()

        assert sorted(i.id for i in again.instances) == sorted(i.id for i in first.instances)
        assert len(subject.cloud.instances()) == 2

    def test_a_token_is_not_to_be_used_for_another_request(self, subject: CloudSubject) -> None:
        subject.cloud.launch(subject.request(count=2))

        with pytest.raises(InvalidError):
            subject.cloud.launch(subject.request(count=3))

    @pytest.mark.parametrize("impossible", ["no overrides", "no instances", "no such type"])
    def test_a_request_that_can_never_be_met_is_refused(self, subject: CloudSubject, impossible: str) -> None:
        unknown = (Override("no-such-type.large", subject.zone, 0.1),)
        request = {
            "no overrides": replace(subject.request(), overrides=()),
            "no instances": subject.request(count=0),
            "no such type": replace(subject.request(), overrides=unknown),
        }[impossible]

        with pytest.raises(InvalidError):
            subject.cloud.launch(request)

    def test_instances_are_found_by_the_token_they_were_bought_under(self, subject: CloudSubject) -> None:
        one = subject.cloud.launch(subject.request(call="one", count=2))
        subject.cloud.launch(subject.request(call="two"))
        subject.settle()

        found = subject.cloud.launched_by("one")

        assert sorted(i.id for i in found) == sorted(i.id for i in one.instances)
        assert {i.tags[LAUNCH_TAG] for i in found} == {"one"}
        assert subject.cloud.launched_by("three") == ()

    def test_a_listing_describes_instances_as_the_launch_did(self, subject: CloudSubject) -> None:
        (launched,) = subject.cloud.launch(subject.request()).instances
        subject.settle()

        (listed,) = subject.cloud.instances()

        assert listed.state is InstanceState.RUNNING
        # A cloud may add tags of its own, and say to the second when an instance was launched.
        assert listed.tags.items() >= launched.tags.items()
        assert abs(listed.launched_at - launched.launched_at) < timedelta(minutes=1)
        assert replace(launched, **{name: getattr(listed, name) for name in _LATER_KNOWN}) == listed

    def test_who_asks_for_the_instances_of_a_call_is_told_what_their_nodes_are_called(
        self, subject: CloudSubject
    ) -> None:
        subject.cloud.launch(subject.request(call="one", count=2))
        subject.settle()

        names = {instance.node_name for instance in subject.cloud.launched_by("one")}

        assert len(names) == 2
        assert "" not in names

    def test_what_is_terminated_leaves_the_listings(self, subject: CloudSubject) -> None:
        kept, given_back = subject.cloud.launch(subject.request(count=2)).instances
        subject.settle()

        subject.cloud.terminate((given_back.id,))
        at_once = [i.id for i in subject.cloud.instances() if i.live]
        subject.settle()

        assert at_once == [kept.id]
        assert [i.id for i in subject.cloud.instances()] == [kept.id]
        assert [i.id for i in subject.cloud.launched_by("call-1")] == [kept.id]

    def test_terminating_twice_or_what_never_was_does_not_matter(self, subject: CloudSubject) -> None:
        (instance,) = subject.cloud.launch(subject.request()).instances
        subject.settle()

        for _ in range(2):
            subject.cloud.terminate((instance.id, _NOBODY))
            subject.settle()

        assert subject.cloud.instances() == ()
