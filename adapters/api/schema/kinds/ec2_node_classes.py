"""The definition of EC2NodeClass."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.aws.v1_node_class import RESTRICTED_TAGS, EC2NodeClassModel
from treenail.adapters.api.schema.constraints import Constraint, Rule, below
from treenail.adapters.api.schema.definitions import AGE, Column, Definition, Version, condition
from treenail.adapters.api.schema.kinds.v1beta1_ec2_node_classes import EC2_NODE_CLASSES_V1BETA1
from treenail.adapters.api.schema.rules import selector_terms
from treenail.adapters.api.schema.rules.kubelet import kubelet
from treenail.adapters.api.schema.rules.launch import block_devices, metadata_options, tags
from treenail.adapters.api.schema.statuses import EC2NodeClassStatusModel

_ROLE: Final = Rule(
    "has(self.role) != has(self.instanceProfile)", "needs exactly one of role and instanceProfile"
)
_TRACKING: Final = Rule(
    "has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",
    "needs tcpEstablishedTimeout, udpStreamTimeout or udpTimeout",
)
_SAME: Final = "a.networkCardIndex == b.networkCardIndex"
_INTERFACES: Final = (
    Rule(
        "self.size() == 0 || self.exists(i, i.networkCardIndex == 0 && i.deviceIndex == 0"
        " && i.interfaceType == 'interface')",
        "needs one of interfaceType interface with networkCardIndex 0 and deviceIndex 0",
    ),
    Rule(
        f"self.all(a, self.filter(b, {_SAME} && a.deviceIndex == b.deviceIndex).size() == 1)",
        "two have the same networkCardIndex and deviceIndex",
    ),
    Rule(
        "self.filter(a, a.interfaceType == 'efa-only').all(a,"
        f" self.filter(b, {_SAME} && b.interfaceType == 'efa-only').size() == 1)",
        "only one for each networkCardIndex may be efa-only",
    ),
)
_GROUP: Final = Rule("has(self.name) != has(self.id)", "needs exactly one of name and id")

_V1: Final = Version(
    name="v1",
    model=EC2NodeClassModel,
    status=EC2NodeClassStatusModel,
    constraints=below(
        "spec",
        {"": Constraint([_ROLE, *selector_terms.image_family()])},
        selector_terms.subnets("subnetSelectorTerms"),
        selector_terms.security_groups("securityGroupSelectorTerms"),
        selector_terms.images("amiSelectorTerms"),
        selector_terms.reservations("capacityReservationSelectorTerms"),
        tags("tags", restricted=RESTRICTED_TAGS, prefix="kubernetes.io/cluster"),
        block_devices("blockDeviceMappings"),
        metadata_options("metadataOptions", hop_limit=1),
        kubelet("kubelet"),
        {
            "connectionTracking": Constraint([_TRACKING]),
            "networkInterfaces": Constraint(_INTERFACES),
            "placementGroupSelector": Constraint([_GROUP]),
        },
    ),
    columns=(condition("Ready"), AGE, Column("Role", ".spec.role", wide=True)),
)

EC2_NODE_CLASSES: Final = Definition(
    group="karpenter.k8s.aws",
    kind="EC2NodeClass",
    plural="ec2nodeclasses",
    short_names=("ec2nc", "ec2ncs"),
    versions=(EC2_NODE_CLASSES_V1BETA1, _V1),
)
