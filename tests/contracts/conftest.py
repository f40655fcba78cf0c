from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

import pytest

from tests.adapters.fake.ec2.rig import ZONES, SmallCatalogue, node_class
from tests.agenda import HeapAgenda
from tests.contracts.clouds import OF_ROLE, SPOT_PRICES, Setup, ec2
from tests.real.ec2.subject import CLUSTER, EC2Subject
from tests.real.lab.lab import Lab
from treenail.adapters.fake.cluster import FakeCluster
from treenail.adapters.fake.ec2 import FakeEC2, ReservedCapacity
from treenail.adapters.kwok.cloud import KwokCloud
from treenail.domain.model.node_classes import Kubelet


@pytest.fixture(scope="session")
def demo_lab() -> Iterator[Lab]:
    lab = Lab.start(cluster=CLUSTER)
    try:
        yield lab
    finally:
        lab.stop()


@pytest.fixture(params=["fake", "kwok", ec2])
def setup(request: pytest.FixtureRequest) -> Setup:
    if request.param == "ec2":
        subject = EC2Subject(request.getfixturevalue("demo_lab"))
        return Setup(
            subject.cloud,
            subject.now,
            subject.settle,
            subject.profiles,
            reserve=subject.reserve,
            group=subject.group,
            fail_check=subject.fail_check,
            plan_event=subject.plan_event,
        )
    agenda, dice, catalogue = HeapAgenda(), random.Random(1), SmallCatalogue()
    if request.param == "fake":
        cloud = FakeEC2(agenda, dice, catalogue, cluster_name="demo", roles=[OF_ROLE.role])
        cloud.placement_groups.delete("nowhere")
        return Setup(
            cloud,
            agenda.now,
            lambda: agenda.run(90),
            lambda: [profile.name for profile in cloud.iam.all],
            reserve=partial(_reserve, cloud),
            group=lambda name: cloud.placement_groups.make(name).id,
            fail_check=cloud.health.fail,
            plan_event=lambda name: cloud.health.plan(name, after_seconds=3600),
        )
    cluster = FakeCluster(agenda=agenda, dice=dice)
    types = catalogue.instance_types(node_class(), Kubelet(), zones=ZONES, spot_prices=SPOT_PRICES)
    return Setup(KwokCloud(cluster, cluster, types), agenda.now, lambda: agenda.run(90))


def _reserve(cloud: FakeEC2, instances: int) -> str:
    one = ReservedCapacity(id="cr-1", instance_type="m5.large", zone=ZONES[0], instances=instances)
    cloud.reservations.add(one)
    return one.id
