"""The clouds that are held against the contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

import pytest

from tests.adapters.fake.ec2.rig import ZONES, node_class
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.model.node_classes import SelectorTerm
from treenail.domain.ports import Cloud

NOWHERE = node_class(subnets=(SelectorTerm(id="subnet-00000000000000000"),))
OF_ROLE = replace(
    node_class(amis=(SelectorTerm(alias="al2023@latest"),)), uid="uid-1", role="KarpenterNodeRole-demo"
)
SPOT_PRICES = {(name, zone): 0.03 for name in ("c5.large", "m5.large", "m6g.large") for zone in ZONES}
# One worker runs all that is held against the laboratory, so that it is started once.
ec2 = pytest.param("ec2", marks=pytest.mark.xdist_group("contract of clouds"))
# Node classes and accounts mean nothing to KWOK.
of_ec2 = pytest.mark.parametrize("setup", ["fake", ec2], indirect=True)


@dataclass(frozen=True, slots=True)
class Setup:
    """A cloud, the time it goes by, and how to let enough of that pass for what was done to be seen.

    `profiles` tells which managed instance profiles there are in its account. There is no role "nobody".
    `reserve` reserves so many m5.large in the first zone, and gives the reservation's id.
    `group` makes a placement group of a name, and gives its id. There is none called "nowhere".
    `fail_check` lets a status check of an instance fail, `plan_event` plans to stop it in an hour.
    """

    cloud: Cloud
    now: Callable[[], datetime]
    settle: Callable[[], None]
    profiles: Callable[[], list[str]] = list
    fail_check: Callable[[str, InterruptionKind], None] = lambda _name, _kind: None
    reserve: Callable[[int], str] = lambda _count: ""
    group: Callable[[str], str] = str
    plan_event: Callable[[str], None] = lambda _name: None
