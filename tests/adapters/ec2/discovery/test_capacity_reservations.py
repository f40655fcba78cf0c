from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.ec2.discovery.account import Account, node_class
from treenail.adapters.ec2.discovery.capacity_reservations import CapacityReservations
from treenail.domain.model.node_classes import AmiFamily, SelectorTerm

DESCRIBE = "ec2.describe_capacity_reservations"
WINDOWS = {AmiFamily.WINDOWS2019, AmiFamily.WINDOWS2022, AmiFamily.WINDOWS2025}
LINUX = {AmiFamily.AL2, AmiFamily.AL2023, AmiFamily.BOTTLEROCKET, AmiFamily.UBUNTU}


def families_that_may_use(account: Account, platform: str) -> set[AmiFamily]:
    reservation = {
        "CapacityReservationId": "cr-1",
        "InstanceType": "m5.large",
        "InstancePlatform": platform,
        "AvailabilityZone": "a",
        "AvailableInstanceCount": 3,
    }
    account.answers(DESCRIBE, {"CapacityReservations": [reservation]})
    reservations = CapacityReservations(account.aws, account.caches)
    selecting = replace(node_class(), reservation_terms=(SelectorTerm(id="cr-1"),))
    return {one for one in AmiFamily if reservations.of(replace(selecting, ami_family=one))}


@pytest.mark.parametrize(
    ("platform", "families"),
    [
        ("Linux/UNIX", LINUX),
        ("Windows", WINDOWS),
        ("Red Hat Enterprise Linux", set()),
        ("SUSE Linux", set()),
        ("Ubuntu Pro", set()),
        ("Linux with SQL Server Web", set()),
        ("Windows with SQL Server Standard", set()),
    ],
)
def test_a_reservation_serves_just_its_own_platform_and_images_of_which_nobody_knows_theirs(
    account: Account, platform: str, families: set[AmiFamily]
) -> None:
    assert families_that_may_use(account, platform) == families | {AmiFamily.CUSTOM}
