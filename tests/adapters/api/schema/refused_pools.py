"""NodePools that break a rule, and the field that must be named. Reading refuses them too."""

from __future__ import annotations

from typing import Final

from tests.adapters.api.builders import node_pool_tree
from tests.adapters.api.schema.trees import (
    KWOK,
    LONG,
    TAINT,
    Refused,
    annotated,
    asking,
    labelled,
    only,
    pool,
)

_SPEC: Final = "spec.template.spec"
_FIRST: Final = f"{_SPEC}.requirements[0]"
_LABELS: Final = "spec.template.metadata.labels"

REFUSED_POOLS: Final[dict[str, Refused]] = {
    "unknown operator": Refused(
        pool(**asking("a", "Is", "b")),
        f"{_FIRST}.operator",
        'Unsupported value: "Is"',
        '"Is" is not one of DoesNotExist, Exists, Gt, Gte, In, Lt',
    ),
    "malformed key": Refused(
        pool(**asking("a b", "Exists")),
        f"{_FIRST}.key",
        "should match",
        '"a b" is not a label key (such as team or example.com/team)',
    ),
    "malformed domain": Refused(
        pool(**asking("A.com/b", "Exists")),
        f"{_FIRST}.key",
        "should match",
        '"A.com/b" is not a label key (such as team or',
    ),
    "long key": Refused(
        pool(**asking("a" * 64, "Exists")),
        f"{_FIRST}.key",
        "should match",
        "is not a label key (such as team or example.com/team)",
    ),
    "key of every node": Refused(
        pool(**asking("kubernetes.io/hostname", "In", "a")),
        f"{_FIRST}.key",
        "kubernetes.io/hostname, karpenter.sh/nodepool",
        '"kubernetes.io/hostname" is restricted: it is given to',
    ),
    "key of the old pool": Refused(
        pool(**asking("karpenter.sh/provisioner-name", "Exists")),
        f"{_FIRST}.key",
        "kubernetes.io/hostname, karpenter.sh/nodepool",
        "is restricted: it is given to every node by itself",
    ),
    "key of Karpenter": Refused(
        pool(**asking("karpenter.sh/registered", "Exists")),
        f"{_FIRST}.key",
        "of karpenter.sh there is only karpenter.sh/capacity-type",
        '"karpenter.sh/registered" is restricted: labels of',
    ),
    "key below Karpenter": Refused(
        pool(**asking("a.karpenter.sh/b", "Exists")),
        f"{_FIRST}.key",
        "of karpenter.sh there is only karpenter.sh/capacity-type",
        '"a.karpenter.sh/b" is restricted: labels of karpenter.sh',
    ),
    "key that AWS lacks": Refused(
        pool(**asking("karpenter.k8s.aws/instance-colour", "Exists")),
        f"{_FIRST}.key",
        "of karpenter.k8s.aws there are only",
        "is no label of karpenter.k8s.aws; did you mean",
    ),
    "malformed value": Refused(
        pool(**asking("a", "In", "b c")),
        f"{_FIRST}.values[0]",
        "should match",
        '"b c" is not a label value (at most 63 letters, digits',
    ),
    "long value": Refused(
        pool(**asking("a", "NotIn", "b" * 64)),
        f"{_FIRST}.values[0]",
        "Too long: may not be more than 63 bytes",
        "is not a label value (at most 63 letters, digits, '-', '_'",
    ),
    "no value": Refused(pool(**asking("a", "In")), f"{_FIRST}.values", "In needs at least one value"),
    "no values": Refused(
        pool(requirements=[{"key": "a", "operator": "In"}]), f"{_FIRST}.values", "In needs at least one value"
    ),
    "no bound": Refused(
        pool(requirements=[{"key": "a", "operator": "Gt"}]),
        f"{_FIRST}.values",
        "Gt, Lt, Gte and Lte need exactly one whole number, not a negative one",
        "Gt needs exactly one whole number, not []",
    ),
    "two bounds": Refused(
        pool(**asking("a", "Lt", "1", "2")),
        f"{_FIRST}.values",
        "Gt, Lt, Gte and Lte need exactly one whole number, not a negative one",
        'Lt needs exactly one whole number, not ["1", "2"]',
    ),
    "bound that is text": Refused(
        pool(**asking("a", "Gte", "many")),
        f"{_FIRST}.values",
        "Gt, Lt, Gte and Lte need exactly one whole number, not a negative one",
        'Gte needs exactly one whole number, not ["many"]',
    ),
    "bound below zero": Refused(
        pool(**asking("a", "Lte", "-1")),
        f"{_FIRST}.values",
        "Gt, Lt, Gte and Lte need exactly one whole number, not a negative one",
        "Lte -1 must not be negative",
    ),
    "bound beyond 64 bits": Refused(
        pool(**asking("a", "Gt", "9" * 20)),
        _FIRST,
        "Gt, Lt, Gte and Lte need exactly one whole number, not a negative one",
        "Gt needs exactly one whole number, not",
    ),
    "too few values": Refused(
        pool(**asking("a", "In", "b", minValues=2)),
        f"{_FIRST}.minValues",
        "must not be more than the number of values listed",
        "2 is more than the 1 value(s) listed",
    ),
    "minValues of 0": Refused(
        pool(**asking("a", "In", "b", minValues=0)),
        f"{_FIRST}.minValues",
        "should be greater than or equal to 1",
        "0 is not between 1 and 50",
    ),
    "minValues of 51": Refused(
        pool(**asking("a", "Exists", minValues=51)),
        f"{_FIRST}.minValues",
        "should be less than or equal to 50",
        "51 is not between 1 and 50",
    ),
    "no capacity type": Refused(
        pool(**asking("karpenter.sh/capacity-type", "In", "x")),
        f"{_FIRST}.values",
        "one of them must be one of on-demand, reserved, spot",
        "none of them is one of on-demand, reserved, spot",
    ),
    "too many requirements": Refused(
        pool(requirements=asking("a", "Exists")["requirements"] * 101),
        f"{_SPEC}.requirements",
        "Too many: 101: must have at most 100 items",
        "has 101 items, 100 at most are allowed",
    ),
    "no requirements": Refused(
        only(node_pool_tree(), template={"spec": {"nodeClassRef": KWOK}}),
        f"{_SPEC}.requirements",
        "Required value",
        "is missing",
    ),
    "no template": Refused(only(node_pool_tree()), "spec.template", "Required value", "is missing"),
    "no spec": Refused(
        {k: v for k, v in node_pool_tree().items() if k != "spec"}, "spec", "Required value", "is missing"
    ),
    "label of Karpenter": Refused(
        labelled(**{"karpenter.sh/x": "a"}),
        _LABELS,
        "of karpenter.sh there is only karpenter.sh/capacity-type",
        '"karpenter.sh/x" is restricted: labels of karpenter.sh are',
    ),
    "label of the pool": Refused(
        labelled(**{"karpenter.sh/nodepool": "a"}),
        _LABELS,
        "kubernetes.io/hostname, karpenter.sh/nodepool",
        '"karpenter.sh/nodepool" is restricted: it is given to every',
    ),
    "label of AWS": Refused(
        labelled(**{"karpenter.k8s.aws/x": "a"}),
        _LABELS,
        "of karpenter.k8s.aws there are only",
        '"karpenter.k8s.aws/x" is no label of karpenter.k8s.aws; did',
    ),
    "malformed label": Refused(
        labelled(**{"a b": "a"}),
        _LABELS,
        "its keys must be label keys (such as team or example.com/team)",
        '"a b" is not a label key (such as team or example.com/team)',
    ),
    "malformed value of a label": Refused(
        labelled(a="b c"),
        f"{_LABELS}.a",
        "should match",
        '"b c" is not a label value (at most 63 letters, digits',
    ),
    "malformed annotation": Refused(
        annotated("a b"),
        "spec.template.metadata.annotations",
        "its keys must be annotation keys (such as example.com/team)",
        '"a b" is not an annotation key (such as example.com/team)',
    ),
    "malformed taint": Refused(
        pool(taints=[{**TAINT, "key": "a/b/c"}]),
        f"{_SPEC}.taints[0].key",
        "should match",
        '"a/b/c" is not a label key (such as team or',
    ),
    "malformed value of a taint": Refused(
        pool(taints=[{**TAINT, "value": "a/b"}]),
        f"{_SPEC}.taints[0].value",
        "should match",
        '"a/b" is not a label value (at most 63 letters, digits',
    ),
    "unknown effect": Refused(
        pool(taints=[{**TAINT, "effect": "Never"}]),
        f"{_SPEC}.taints[0].effect",
        'Unsupported value: "Never"',
        '"Never" is not one of NoSchedule, PreferNoSchedule',
    ),
    "taint without key": Refused(
        pool(taints=[{"effect": "NoSchedule"}]), f"{_SPEC}.taints[0].key", "Required value", "is missing"
    ),
    "taint twice": Refused(
        pool(taints=[TAINT, {**TAINT, "value": "b"}]),
        f"{_SPEC}.taints",
        "one key and effect are there twice",
        "a with NoSchedule is there twice",
    ),
    "startup taint twice": Refused(
        pool(startupTaints=[TAINT, TAINT]),
        f"{_SPEC}.startupTaints",
        "one key and effect are there twice",
        "a with NoSchedule is there twice",
    ),
    "taint at startup too": Refused(
        pool(taints=[TAINT], startupTaints=[TAINT]),
        f"{_SPEC}.startupTaints",
        "one key and effect are there in taints too",
        "a with NoSchedule is there twice",
    ),
    "foreign node class": Refused(
        pool(nodeClassRef={**KWOK, "group": "karpenter.azure.com", "kind": "AKSNodeClass"}),
        f"{_SPEC}.nodeClassRef",
        "is no node class; known are EC2NodeClass of karpenter.k8s.aws",
    ),
    "kind of another group": Refused(
        pool(nodeClassRef={**KWOK, "kind": "EC2NodeClass"}),
        f"{_SPEC}.nodeClassRef",
        "is no node class; known are EC2NodeClass of karpenter.k8s.aws",
    ),
    "group with a version": Refused(
        pool(nodeClassRef={**KWOK, "group": "a/v1"}),
        f"{_SPEC}.nodeClassRef.group",
        "should match",
        "\"a/v1\" is not a group (it has no '/')",
    ),
    "malformed name": Refused(
        pool(nodeClassRef={**KWOK, "name": "A"}),
        f"{_SPEC}.nodeClassRef.name",
        "should match",
        '"A" is not a DNS name',
    ),
    "endless grace": Refused(
        pool(terminationGracePeriod="Never"),
        f"{_SPEC}.terminationGracePeriod",
        "should match",
        '"Never" is not a duration (such as 30s, 15m, 1h30m or 720h)',
    ),
    "grace of 11,000 years": Refused(
        pool(terminationGracePeriod=LONG),
        f"{_SPEC}.terminationGracePeriod",
        "must be less than 292 years",
        '"99999999h" is no duration of less than 292 years',
    ),
    "age in days": Refused(
        pool(expireAfter="30d"),
        f"{_SPEC}.expireAfter",
        "should match",
        '"30d" is not a duration (such as 30s, 15m, 1h30m or 720h)',
    ),
    "age of 11,000 years": Refused(
        pool(expireAfter=LONG),
        f"{_SPEC}.expireAfter",
        "must be less than 292 years",
        '"99999999h" is no duration of less than 292 years',
    ),
    "limit below zero": Refused(
        node_pool_tree(limits={"cpu": -1}),
        "spec.limits.cpu",
        "should be greater than or equal to 0",
        '"-1" must not be negative',
    ),
    "limit that is none": Refused(
        node_pool_tree(limits={"cpu": "1 core"}),
        "spec.limits.cpu",
        "should match",
        '"1 core" is not a quantity (such as 500m, 2 or 1.5Gi)',
    ),
    "limit beyond 64 bits": Refused(
        node_pool_tree(limits={"memory": "10E"}),
        "spec.limits[memory]",
        "must not be more than 9223372036854775807",
        '"10E" is larger than any quantity Kubernetes can hold',
    ),
    "weight of 0": Refused(
        node_pool_tree(weight=0),
        "spec.weight",
        "should be greater than or equal to 1",
        "0 is not between 1 and 100",
    ),
    "weight of 101": Refused(
        node_pool_tree(weight=101),
        "spec.weight",
        "should be less than or equal to 100",
        "101 is not between 1 and 100",
    ),
    "value with a sign": Refused(
        pool(**asking("a", "In", "-5")),
        f"{_FIRST}.values",
        "label values must not begin with a sign",
        '"-5" is not a label value',
    ),
}
