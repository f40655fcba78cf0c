"""The conditions a history runs under: good ones, or those of a bad day."""

from __future__ import annotations

import random
from typing import Final

from treenail.actors.system import SystemSettings
from treenail.adapters.embed import Conditions
from treenail.adapters.fake.cluster import EKS_DAEMONS, ClusterFaults, ClusterSettings
from treenail.adapters.fake.ec2 import EC2Faults

_BAD_CLOUD: Final = EC2Faults(answer_lost=0.1, unavailable=0.1, throttled=0.1, terminate_lost=0.1)


def any_conditions(dice: random.Random, *, lost: float) -> Conditions:
    """Return conditions that the dice choose. On bad days the API server loses so many calls, and answers."""
    bad_cluster = ClusterFaults(conflict=0.05, answer_lost=lost, unavailable=lost, watch_duplicate=0.05)
    return Conditions(
        system=SystemSettings(cluster_name="demo", early_binding=dice.random() < 0.2),
        cluster=ClusterSettings(system_daemons=EKS_DAEMONS, slow_stops=dice.choice((0.0, 0.5))),
        cluster_faults=dice.choice((ClusterFaults(), bad_cluster)),
        ec2_faults=dice.choice((EC2Faults(), _BAD_CLOUD)),
    )
