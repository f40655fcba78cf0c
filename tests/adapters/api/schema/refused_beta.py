"""What is of v1beta1 and breaks a rule, and the field that must be named. Reading refuses it too."""

from __future__ import annotations

from typing import Final

from tests.adapters.api.schema.trees import (
    LONG,
    TAGGED,
    TAINT,
    Refused,
    asking,
    beta_claim,
    beta_class,
    beta_pool,
    only,
)

_SPEC: Final = "spec.template.spec"
_FIRST: Final = f"{_SPEC}.requirements[0]"
_FOREIGN: Final = {"apiVersion": "karpenter.azure.com/v1", "kind": "AKSNodeClass", "name": "default"}

REFUSED_BETA: Final[dict[str, Refused]] = {
    "beta: operator of a later version": Refused(
        beta_pool(asking("a", "Gte", "1")),
        f"{_FIRST}.operator",
        'Unsupported value: "Gte"',
        '"Gte" is not one of DoesNotExist, Exists, Gt, In, Lt',
    ),
    "beta: key of the pool": Refused(
        beta_pool(asking("karpenter.sh/nodepool", "Exists")),
        f"{_FIRST}.key",
        "kubernetes.io/hostname, karpenter.sh/nodepool",
        '"karpenter.sh/nodepool" is restricted: it is given to every',
    ),
    "beta: key of Karpenter": Refused(
        beta_pool(asking("karpenter.sh/x", "Exists")),
        f"{_FIRST}.key",
        "of karpenter.sh there is only karpenter.sh/capacity-type",
        '"karpenter.sh/x" is restricted: labels of karpenter.sh are',
    ),
    "beta: no value": Refused(
        beta_pool(asking("a", "In")), f"{_FIRST}.values", "In needs at least one value"
    ),
    "beta: bound below zero": Refused(
        beta_pool(asking("a", "Gt", "-1")),
        f"{_FIRST}.values",
        "Gt, Lt, Gte and Lte need exactly one whole number, not a negative one",
        "Gt -1 must not be negative",
    ),
    "beta: too few values": Refused(
        beta_pool(asking("a", "In", "b", minValues=2)),
        f"{_FIRST}.minValues",
        "must not be more than the number of values listed",
        "2 is more than the 1 value(s) listed",
    ),
    "beta: no template": Refused(only(beta_pool()), "spec.template", "Required value", "is missing"),
    "beta: no node class": Refused(
        only(beta_pool(), template={"spec": {"requirements": []}}),
        f"{_SPEC}.nodeClassRef",
        "Required value",
        "is missing",
    ),
    "beta: foreign node class": Refused(
        beta_pool({"nodeClassRef": _FOREIGN}),
        f"{_SPEC}.nodeClassRef",
        "is no node class; known are EC2NodeClass of karpenter.k8s.aws",
    ),
    "beta: node class without a name": Refused(
        beta_pool({"nodeClassRef": {"name": ""}}),
        f"{_SPEC}.nodeClassRef.name",
        "should be at least 1 chars long",
        "must not be empty",
    ),
    "beta: malformed name": Refused(
        beta_pool({"nodeClassRef": {"name": "A"}}),
        f"{_SPEC}.nodeClassRef.name",
        "should match",
        '"A" is not a DNS name',
    ),
    "beta: taint at startup too": Refused(
        beta_pool({"taints": [TAINT], "startupTaints": [TAINT]}),
        f"{_SPEC}.startupTaints",
        "one key and effect are there in taints too",
        "a with NoSchedule is there twice",
    ),
    "beta: unknown signal": Refused(
        beta_pool({"kubelet": {"evictionHard": {"memory": "5%"}}}),
        f"{_SPEC}.kubelet.evictionHard",
        "may only name imagefs.available, imagefs.inodesFree, memory.available",
        "is not one of imagefs.available, imagefs.inodesFree",
    ),
    "beta: threshold without period": Refused(
        beta_pool({"kubelet": {"evictionSoft": {"pid.available": "5%"}}}),
        f"{_SPEC}.kubelet.evictionSoft",
        "every signal must stand in evictionSoft and in evictionSoftGracePeriod",
        "pid.available must stand in evictionSoftGracePeriod too",
    ),
    "beta: no pods at all": Refused(
        beta_pool({"kubelet": {"maxPods": -1}}),
        f"{_SPEC}.kubelet.maxPods",
        "should be greater than or equal to 0",
        "-1 must not be negative",
    ),
    "beta: policy of v1": Refused(
        beta_pool(disruption={"consolidationPolicy": "WhenEmptyOrUnderutilized"}),
        "spec.disruption.consolidationPolicy",
        'Unsupported value: "WhenEmptyOrUnderutilized"',
        '"WhenEmptyOrUnderutilized" is not one of WhenEmpty',
    ),
    "beta: empty without a delay": Refused(
        beta_pool(disruption={"consolidationPolicy": "WhenEmpty"}),
        "spec.disruption.consolidateAfter",
        "is missing: consolidationPolicy WhenEmpty needs it",
    ),
    "beta: delay of the underused": Refused(
        beta_pool(disruption={"consolidationPolicy": "WhenUnderutilized", "consolidateAfter": "30s"}),
        "spec.disruption.consolidateAfter",
        "may only be Never beside consolidationPolicy WhenUnderutilized",
    ),
    "beta: delay without a policy": Refused(
        beta_pool(disruption={"consolidateAfter": "30s"}),
        "spec.disruption.consolidateAfter",
        "may only be Never beside consolidationPolicy WhenUnderutilized",
    ),
    "beta: age in days": Refused(
        beta_pool(disruption={"expireAfter": "30d"}),
        "spec.disruption.expireAfter",
        "should match",
        '"30d" is not a duration (such as 30s, 15m, 1h30m or 720h)',
    ),
    "beta: age of 11,000 years": Refused(
        beta_pool(disruption={"expireAfter": LONG}),
        "spec.disruption.expireAfter",
        "must be less than 292 years",
        '"99999999h" is no duration of less than 292 years',
    ),
    "beta: budget over everything": Refused(
        beta_pool(disruption={"budgets": [{"nodes": "101%"}]}),
        "spec.disruption.budgets[0].nodes",
        "should match",
        '"101%" is not a number of nodes or a percentage ("10%")',
    ),
    "beta: duration without schedule": Refused(
        beta_pool(disruption={"budgets": [{"duration": "1h"}]}),
        "spec.disruption.budgets[0]",
        "needs schedule and duration, or neither",
    ),
    "beta: half a cron schedule": Refused(
        beta_pool(disruption={"budgets": [{"schedule": "* *", "duration": "1h"}]}),
        "spec.disruption.budgets[0].schedule",
        "should match",
        "is not a cron schedule (such as '0 9 * * 1-5' or @daily)",
    ),
    "beta: limit below zero": Refused(
        beta_pool(limits={"cpu": -1}),
        "spec.limits.cpu",
        "should be greater than or equal to 0",
        '"-1" must not be negative',
    ),
    "beta: weight of 101": Refused(
        beta_pool(weight=101),
        "spec.weight",
        "should be less than or equal to 100",
        "101 is not between 1 and 100",
    ),
    "beta: claim of a foreign class": Refused(
        beta_claim(nodeClassRef=_FOREIGN),
        "spec.nodeClassRef",
        "is no node class; known are EC2NodeClass of karpenter.k8s.aws",
    ),
    "beta: malformed key of a claim": Refused(
        beta_claim(**asking("-a", "Exists")),
        "spec.requirements[0].key",
        "should match",
        '"-a" is not a label key (such as team or example.com/team)',
    ),
    "beta: taint twice on a claim": Refused(
        beta_claim(taints=[TAINT, TAINT]),
        "spec.taints",
        "one key and effect are there twice",
        "a with NoSchedule is there twice",
    ),
    "beta: negative request": Refused(
        beta_claim(resources={"requests": {"cpu": "-1"}}),
        "spec.resources.requests.cpu",
        "should match",
        '"-1" must not be negative',
    ),
    "beta: negative reservation of a claim": Refused(
        beta_claim(kubelet={"kubeReserved": {"cpu": "-1"}}),
        "spec.kubelet.kubeReserved.cpu",
        "should match",
        '"-1" must not be negative',
    ),
    "beta: no family": Refused(
        only(beta_class(), role="a", subnetSelectorTerms=TAGGED, securityGroupSelectorTerms=TAGGED),
        "spec.amiFamily",
        "Required value",
        "is missing",
    ),
    "beta: family of v1": Refused(
        beta_class(amiFamily="Windows2025"),
        "spec.amiFamily",
        'Unsupported value: "Windows2025"',
        '"Windows2025" is not one of AL2, AL2023, Bottlerocket',
    ),
    "beta: custom without images": Refused(
        beta_class(amiFamily="Custom"), "spec.amiSelectorTerms", "is missing: amiFamily Custom needs it"
    ),
    "beta: images by owner alone": Refused(
        beta_class(amiSelectorTerms=[{"owner": "self"}]),
        "spec.amiSelectorTerms[0]",
        "needs tags, id or name",
        "needs tags, id, name, alias or ssmParameter",
    ),
    "beta: images by id and name": Refused(
        beta_class(amiSelectorTerms=[{"id": "ami-1", "name": "a"}]),
        "spec.amiSelectorTerms[0].id",
        "cannot stand beside other fields",
    ),
    "beta: id of no image": Refused(
        beta_class(amiSelectorTerms=[{"id": "sg-1"}]),
        "spec.amiSelectorTerms[0].id",
        "should match",
        '"sg-1" is not an image\'s id (ami-...)',
    ),
    "beta: role and profile": Refused(
        beta_class(instanceProfile="a"), "spec", "needs exactly one of role and instanceProfile"
    ),
    "beta: no subnets": Refused(
        beta_class(subnetSelectorTerms=[]),
        "spec.subnetSelectorTerms",
        "should have at least 1 items",
        "needs at least 1 item(s)",
    ),
    "beta: empty tag": Refused(
        beta_class(subnetSelectorTerms=[{"tags": {"a": ""}}]),
        "spec.subnetSelectorTerms[0].tags",
        "neither a tag's key nor its value may be empty",
    ),
    "beta: groups by nothing": Refused(
        beta_class(securityGroupSelectorTerms=[{}]),
        "spec.securityGroupSelectorTerms[0]",
        "needs tags, id or name",
    ),
    "beta: tag of the old pool": Refused(
        beta_class(tags={"karpenter.sh/provisioner-name": "a"}),
        "spec.tags",
        "eks:eks-cluster-name, karpenter.k8s.aws/ec2nodeclass",
        "is restricted: instances get it by themselves",
    ),
    "beta: volume of no size": Refused(
        beta_class(blockDeviceMappings=[{"ebs": {}}]),
        "spec.blockDeviceMappings[0].ebs",
        "needs volumeSize or snapshotID",
    ),
    "beta: 65 hops": Refused(
        beta_class(metadataOptions={"httpPutResponseHopLimit": 65}),
        "spec.metadataOptions.httpPutResponseHopLimit",
        "should be less than or equal to 64",
        "65 is not between 1 and 64",
    ),
    "beta: unknown policy of disks": Refused(
        beta_class(instanceStorePolicy="RAID1"),
        "spec.instanceStorePolicy",
        'Unsupported value: "RAID1"',
        '"RAID1" is not one of RAID0; did you mean RAID0?',
    ),
    "beta: limit with a fraction": Refused(
        beta_pool(limits={"cpu": 1.5}),
        "spec.limits.cpu",
        "must be of type integer,string",
        "expected text or a whole number, got the number 1.5 (put it in quotes)",
    ),
    "beta: budget of 11,000 years": Refused(
        beta_pool(disruption={"budgets": [{"schedule": "@daily", "duration": LONG}]}),
        "spec.disruption.budgets[0].duration",
        "must be less than 292 years",
        f'"{LONG}" is no duration of less than 292 years',
    ),
}
