"""NodeClaims and Machines that break a rule, and the field that must be named. Reading refuses them too."""

from __future__ import annotations

from typing import Final

from tests.adapters.api.schema.trees import KWOK, LONG, TAINT, Refused, asking, claim, machine, only

REFUSED_CLAIMS: Final[dict[str, Refused]] = {
    "malformed bound of a claim": Refused(
        claim(**asking("a", "Gt", "-b")),
        "spec.requirements[0].values",
        "Gt, Lt, Gte and Lte need exactly one whole number",
        'Gt needs exactly one whole number, not ["-b"]',
    ),
    "malformed key of a claim": Refused(
        claim(**asking("-a", "Exists")),
        "spec.requirements[0].key",
        "should match",
        '"-a" is not a label key (such as team or example.com/team)',
    ),
    "claim without a value": Refused(
        claim(**asking("a", "In")), "spec.requirements[0].values", "In needs at least one value"
    ),
    "too few values of a claim": Refused(
        claim(**asking("a", "In", "b", minValues=2)),
        "spec.requirements[0].minValues",
        "must not be more than the number of values listed",
        "2 is more than the 1 value(s) listed",
    ),
    "host of a claim": Refused(
        claim(**asking("kubernetes.io/hostname", "Exists")),
        "spec.requirements[0].key",
        "kubernetes.io/hostname, karpenter.sh/nodepool",
        '"kubernetes.io/hostname" is restricted: it is given to every',
    ),
    "old pool of a claim": Refused(
        claim(**asking("karpenter.sh/provisioner-name", "DoesNotExist")),
        "spec.requirements[0].key",
        "kubernetes.io/hostname, karpenter.sh/nodepool",
        '"karpenter.sh/provisioner-name" is restricted: it is given to every',
    ),
    "key of Karpenter of a claim": Refused(
        claim(**asking("karpenter.sh/initialized", "Exists")),
        "spec.requirements[0].key",
        "of karpenter.sh there is only karpenter.sh/capacity-type",
        '"karpenter.sh/initialized" is restricted: labels of karpenter.sh are',
    ),
    "key of AWS of a claim": Refused(
        claim(**asking("karpenter.k8s.aws/instance-familie", "Exists")),
        "spec.requirements[0].key",
        "of karpenter.k8s.aws there are only",
        "did you mean karpenter.k8s.aws/instance-family?",
    ),
    "taint twice on a claim": Refused(
        claim(taints=[TAINT], startupTaints=[TAINT]),
        "spec.startupTaints",
        "one key and effect are there in taints too",
        "a with NoSchedule is there twice",
    ),
    "absurd request": Refused(
        claim(resources={"requests": {"memory": "10P"}}),
        "spec.resources.requests[memory]",
        "must not be more than 9007199254740992",
        '"10P" is absurdly large: the limit is 8Pi',
    ),
    "negative request": Refused(
        claim(resources={"requests": {"cpu": "-1"}}),
        "spec.resources.requests.cpu",
        "should match",
        '"-1" must not be negative',
    ),
    "claim without class": Refused(
        only(claim(), requirements=[]), "spec.nodeClassRef", "Required value", "is missing"
    ),
    "claim of a foreign class": Refused(
        claim(nodeClassRef={**KWOK, "kind": "X"}),
        "spec.nodeClassRef",
        "is no node class; known are EC2NodeClass of karpenter.k8s.aws",
    ),
    "operator of a later version": Refused(
        machine(**asking("a", "Gte", "1")),
        "spec.requirements[0].operator",
        'Unsupported value: "Gte"',
        '"Gte" is not one of DoesNotExist, Exists, Gt, In, Lt',
    ),
    "malformed bound of a machine": Refused(
        machine(**asking("a", "Gt")),
        "spec.requirements[0].values",
        "Gt, Lt, Gte and Lte need exactly one whole number",
        "Gt needs exactly one whole number, not []",
    ),
    "taint twice on a machine": Refused(
        machine(taints=[TAINT, TAINT]),
        "spec.taints",
        "one key and effect are there twice",
        "a with NoSchedule is there twice",
    ),
    "machine of a foreign kind": Refused(
        machine(machineTemplateRef={"name": "a", "kind": "X"}),
        "spec.machineTemplateRef",
        "is no node class; known are EC2NodeClass of karpenter.k8s.aws",
    ),
    "endless grace of a claim": Refused(
        claim(terminationGracePeriod="Never"),
        "spec.terminationGracePeriod",
        "should match",
        '"Never" is not a duration (such as 30s, 15m, 1h30m or 720h)',
    ),
    "minValues of 51 of a claim": Refused(
        claim(**asking("a", "Exists", minValues=51)),
        "spec.requirements[0].minValues",
        "should be less than or equal to 50",
        "51 is not between 1 and 50",
    ),
    "age of a claim in days": Refused(
        claim(expireAfter="30d"),
        "spec.expireAfter",
        "should match",
        '"30d" is not a duration (such as 30s, 15m, 1h30m or 720h)',
    ),
    "malformed key of a machine": Refused(
        machine(**asking("a b", "Exists")),
        "spec.requirements[0].key",
        "should match",
        '"a b" is not a label key (such as team or example.com/team)',
    ),
    "absurd request of a machine": Refused(
        machine(resources={"requests": {"memory": "10P"}}),
        "spec.resources.requests[memory]",
        "must not be more than 9007199254740992",
        '"10P" is absurdly large: the limit is 8Pi',
    ),
    "malformed taint of a machine": Refused(
        machine(taints=[{**TAINT, "value": "a/b"}]),
        "spec.taints[0].value",
        "should match",
        '"a/b" is not a label value (at most 63 letters, digits',
    ),
    "machine without a template's name": Refused(
        machine(machineTemplateRef={"kind": "AWSNodeTemplate"}),
        "spec.machineTemplateRef.name",
        "Required value",
        "is missing",
    ),
    "unknown signal of a machine": Refused(
        machine(kubelet={"evictionHard": {"memory": "5%"}}),
        "spec.kubelet.evictionHard",
        "may only name imagefs.available, imagefs.inodesFree, memory.available",
        "is not one of imagefs.available, imagefs.inodesFree",
    ),
    "negative reservation of a machine": Refused(
        machine(kubelet={"systemReserved": {"cpu": "-5m"}}),
        "spec.kubelet.systemReserved.cpu",
        "should match",
        '"-5m" must not be negative',
    ),
    "age of a claim of 11,000 years": Refused(
        claim(expireAfter=LONG),
        "spec.expireAfter",
        "must be less than 292 years",
        f'"{LONG}" is no duration of less than 292 years',
    ),
    "malformed value of a claim": Refused(
        claim(**asking("a", "In", "b c")),
        "spec.requirements[0].values[0]",
        "should match",
        '"b c" is not a label value',
    ),
    "unknown operator of a claim": Refused(
        claim(**asking("a", "Is", "b")),
        "spec.requirements[0].operator",
        'Unsupported value: "Is"',
        '"Is" is not one of DoesNotExist, Exists, Gt, Gte, In, Lt',
    ),
    "long key of a claim": Refused(
        claim(**asking("a" * 64, "Exists")),
        "spec.requirements[0].key",
        "should match",
        "is not a label key (such as team or example.com/team)",
    ),
    "malformed taint of a claim": Refused(
        claim(taints=[{**TAINT, "value": "a/b"}]),
        "spec.taints[0].value",
        "should match",
        '"a/b" is not a label value (at most 63 letters, digits',
    ),
    "unknown effect of a claim's taint": Refused(
        claim(taints=[{"key": "a", "effect": "NoWay"}]),
        "spec.taints[0].effect",
        'Unsupported value: "NoWay"',
        '"NoWay" is not one of NoSchedule, PreferNoSchedule, NoExecute',
    ),
    "claim with a taint without a key": Refused(
        claim(taints=[{"effect": "NoSchedule"}]), "spec.taints[0].key", "Required value", "is missing"
    ),
    "one taint twice among those of a claim": Refused(
        claim(taints=[TAINT, TAINT]),
        "spec.taints",
        "one key and effect are there twice",
        "a with NoSchedule is there twice",
    ),
    "request of a claim that is no quantity": Refused(
        claim(resources={"requests": {"cpu": "much"}}),
        "spec.resources.requests.cpu",
        "should match",
        '"much" is not a quantity (such as 500m, 2 or 1.5Gi)',
    ),
    "minValues of 0 of a claim": Refused(
        claim(**asking("a", "Exists", minValues=0)),
        "spec.requirements[0].minValues",
        "should be greater than or equal to 1",
        "0 is not between 1 and 50",
    ),
    "claim of a class without a name": Refused(
        claim(nodeClassRef={"group": KWOK["group"], "kind": KWOK["kind"]}),
        "spec.nodeClassRef.name",
        "Required value",
        "is missing",
    ),
    "negative grace of a claim": Refused(
        claim(terminationGracePeriod="-5m"),
        "spec.terminationGracePeriod",
        "should match",
        '"-5m" is not a duration (such as 30s, 15m, 1h30m or 720h)',
    ),
    "value with a sign of a machine": Refused(
        machine(**asking("a", "NotIn", "+5")),
        "spec.requirements[0].values",
        "label values must not begin with a sign",
        '"+5" is not a label value',
    ),
}
