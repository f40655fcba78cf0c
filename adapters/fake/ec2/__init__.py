"""EC2 in memory and virtual time, to embed in tests and rehearsals."""

from __future__ import annotations

from treenail.adapters.api.account import Image, ReservedCapacity, SecurityGroup, Subnet
from treenail.adapters.fake.ec2.catalogue import Catalogue
from treenail.adapters.fake.ec2.cloud import FakeEC2
from treenail.adapters.fake.ec2.machines import EndCause, InstanceRecord
from treenail.adapters.fake.ec2.node_sizes import Shortfall
from treenail.adapters.fake.ec2.settings import EC2Faults, EC2Settings
from treenail.adapters.fake.ec2.spells import Spell

__all__ = [
    "Catalogue",
    "EC2Faults",
    "EC2Settings",
    "EndCause",
    "FakeEC2",
    "Image",
    "InstanceRecord",
    "ReservedCapacity",
    "SecurityGroup",
    "Shortfall",
    "Spell",
    "Subnet",
]
