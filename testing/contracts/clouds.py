"""Tests of what every `Cloud` must do about launches, listings and terminations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import pytest

from treenail.adapters.embed.arguments import implements
from treenail.domain.model import labels
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.fleets import CLUSTER_TAG, LAUNCH_TAG, FleetRequest, InstanceState, Override
from treenail.domain.model.node_class_status import VALIDATED
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.nodes import Status
from treenail.domain.model.observed_capacity import MemoryObserved
from treenail.domain.model.resources import CPU, MEMORY, PODS, Resources
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

    def __post_init__(self) -> None:
        """Refuse a cloud that lacks methods: TypeError names them."""
        implements(self.cloud, Cloud, "cloud")

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


def check_size(of: str, capacity: Resources, allocatable: Resources) -> None:
    """Check that a machine has something of all that every pod takes, and gives pods no more than it has."""
    for resource in (CPU, MEMORY, PODS):
        has, gives = capacity.get(resource, 0), allocatable.get(resource, 0)
        assert 0 < gives <= has, f"{of}: {resource}: capacity is {has}, and allocatable {gives}"


class CloudContract:
    """Derive a class whose name begins with Test, and give it a fixture `subject`, a `CloudSubject`."""

    def test_what_it_sells_is_in_its_catalogue(self, subject: CloudSubject) -> None:
        types = subject.cloud.instance_types(subject.node_class, Kubelet())
        names = [one.name for one in types]

        assert names == sorted(names)
        assert subject.instance_type in names, f"instance_types() names {names[:5]} of {len(names)}"
        sold = types[names.index(subject.instance_type)]
        check_size(sold.name, sold.capacity, sold.allocatable)
        here = [o for o in sold.offerings if (o.zone, o.capacity_type) == (subject.zone, labels.ON_DEMAND)]
        assert [o for o in here if o.available], f"{sold.name} has no {labels.ON_DEMAND} offering there"
        assert all(o.price > 0 for o in here), "an offering has no price, $/h"

    def test_its_catalogue_says_the_labels_of_nodes(self, subject: CloudSubject) -> None:
        types = subject.cloud.instance_types(subject.node_class, Kubelet())

        for sold in (one for one in types if one.name == subject.instance_type):
            assert sold.label(labels.INSTANCE_TYPE) == sold.name
            assert subject.zone in sold.values(labels.ZONE)
            assert labels.ON_DEMAND in sold.values(labels.CAPACITY_TYPE)
            assert sold.values(labels.ARCH)

    def test_a_node_class_it_sells_for_may_be_launched_from(self, subject: CloudSubject) -> None:
        status = subject.cloud.node_class_status(subject.node_class)

        false = [c for c in status.conditions if c.type == VALIDATED and c.status is Status.FALSE]
        assert not false, f"{false[0].reason}: {false[0].message}"

    def test_a_cloud_without_instances_has_none_that_are_unwell(self, subject: CloudSubject) -> None:
        assert subject.cloud.instances() == ()
        assert subject.cloud.impairments().found == ()

    def test_what_was_learnt_is_no_news_the_next_time(self, subject: CloudSubject) -> None:
        seen = MemoryObserved(instance_type=subject.instance_type, image_id="image-1", memory=2**30)

        subject.cloud.learn(seen)

        assert subject.cloud.learn(seen) is False

    def test_what_is_launched_is_what_was_asked_for(self, subject: CloudSubject) -> None:
        answer = subject.cloud.launch(subject.request(count=2))

        assert len({instance.id for instance in answer.instances}) == 2
        for instance in answer.instances:
            assert (instance.instance_type, instance.zone) == (subject.instance_type, subject.zone)
            assert instance.capacity_type == labels.ON_DEMAND
            assert instance.live
            assert instance.tags.items() >= subject.request().tags.items()
            check_size(instance.id, instance.capacity, instance.allocatable)

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
