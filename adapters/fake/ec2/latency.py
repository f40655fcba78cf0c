"""Latency of calls to EC2."""

from __future__ import annotations

import random

from treenail.adapters.fake.ec2.settings import EC2Faults, EC2Settings
from treenail.adapters.fake.luck import chance, draw
from treenail.domain.model.runtime import TaskKey


def latency_of(
    key: TaskKey, dice: random.Random, settings: EC2Settings, faults: EC2Faults, *, slow: bool
) -> tuple[float, float]:
    """Return the seconds a call takes to EC2, and its answer back. `key[1]` names what it is about.

    All calls are `slow`, or some by chance.
    """
    there = draw(dice, settings.latency)
    back = draw(dice, settings.fleet_latency if key[1:2] == ("fleet",) else settings.latency)
    if chance(dice, faults.slow) or slow:
        seconds = draw(dice, faults.slow_seconds)
        return (there + seconds, back) if chance(dice, 0.5) else (there, back + seconds)
    return there, back
