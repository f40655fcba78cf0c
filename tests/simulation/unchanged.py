"""Pools and workloads at random, of which nothing changes but how many pods there are."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeAlias

from tests.scenarios.manifests import Manifest, deployment, need, node_class
from tests.scenarios.test_old_ways import template

Need: TypeAlias = dict[str, Any]

GENERATIONS = ("v1", "v1", "v1beta1", "v1alpha5")
OWN = ("example.com/rack", "team", "capacity-spread")
WORDS = ("a", "b", "c", "blue")
FAMILIES = ("c5", "m5", "r5", "t3")


def own_needs(dice: random.Random, key: str) -> list[Need]:
    """Return requirements on a label of a pool's own that leave it more than one value, most of the time."""
    low = dice.randrange(20)
    one = [
        need(key, *dice.sample(WORDS, dice.randint(1, 4))),
        need(key, *map(str, dice.sample(range(30), dice.randint(1, 5)))),
        need(key, operator="Exists"),
        need(key, *dice.sample([*WORDS, "0", "1"], dice.randint(1, 5)), operator="NotIn"),
        need(key, str(low), operator="Gt"),
        need(key, str(low + 1), operator="Lt"),
    ]
    needs = [dice.choice(one)]
    if dice.random() < 0.3:
        needs.append(dice.choice([need(key, "a", "0", "7", operator="NotIn"), need(key, operator="Exists")]))
    if needs[0]["operator"] == "Gt" and dice.random() < 0.5:
        needs.append(need(key, str(low + dice.randint(2, 9)), operator="Lt"))
    return needs


def known_needs(dice: random.Random, *, choice: bool) -> list[Need]:
    """Return requirements on labels that all agree on; with `choice`, some ask for `minValues`."""
    families = need("karpenter.k8s.aws/instance-family", *dice.sample(FAMILIES, dice.randint(1, 4)))
    if choice and dice.random() < 0.3:
        families["minValues"] = 1
    more = [
        need("kubernetes.io/arch", "amd64"),
        need("karpenter.sh/capacity-type", *dice.choice([("spot",), ("on-demand",), ("spot", "on-demand")])),
        need("karpenter.k8s.aws/instance-cpu", str(dice.choice([1, 3, 7])), operator="Gt"),
        need("karpenter.k8s.aws/instance-memory", "300000", operator="Lt"),
        need("karpenter.k8s.aws/instance-generation", "4", operator="Gt"),
        need("karpenter.k8s.aws/instance-hypervisor", "xen", operator="NotIn"),
        need("karpenter.k8s.aws/instance-gpu-name", operator="DoesNotExist"),
        need("karpenter.k8s.aws/instance-local-nvme", "3", operator="NotIn"),
        need("karpenter.k8s.aws/instance-size", "metal", "24xlarge", operator="NotIn"),
        need("topology.kubernetes.io/zone", *dice.sample(["us-east-1a", "us-east-1b", "us-east-1c"], 2)),
        need("kubernetes.io/os", "linux"),
        need("node.kubernetes.io/windows-build", operator="DoesNotExist"),
    ]
    return [families, *dice.sample(more, dice.randint(0, 6))]


def a_class(dice: random.Random) -> Manifest:
    made = node_class()
    spec = made["spec"]
    spec["amiSelectorTerms"] = [
        {"alias": dice.choice(["al2023@latest", "al2@latest", "bottlerocket@latest"])}
    ]
    spec["subnetSelectorTerms"] = dice.choice(
        [[{"tags": {"discovery": "demo"}}], [{"tags": {"discovery": "*"}}, {"tags": {"discovery": "demo"}}]]
    )
    if dice.random() < 0.3:
        spec["tags"] = {"team": "a"}
    if dice.random() < 0.3:
        spec["userData"] = "#!/bin/bash\ntrue\n" if "bottlerocket" not in str(spec) else "[settings]\n"
    return made


def a_pool(dice: random.Random, number: int, generation: str) -> Manifest:
    """Return a pool; those of the old API are of the template that is called default."""
    keys = dice.sample(OWN, dice.randint(0, 2))
    needs = known_needs(dice, choice=generation == "v1")
    needs += [one for key in keys for one in own_needs(dice, key)]
    labels = {"pool": f"pool-{number}"} if dice.random() < 0.5 else {}
    name, weight = f"pool-{number}", dice.choice([None, 1, 10])
    if generation == "v1alpha5":
        spec: Manifest = {
            "providerRef": {"name": "default"},
            "requirements": needs,
            "labels": labels,
            "ttlSecondsAfterEmpty": 30,
        }
    else:
        beta = generation == "v1beta1"
        ref = {"kind": "EC2NodeClass", "name": "default"}
        ref |= {"apiVersion": "karpenter.k8s.aws/v1beta1"} if beta else {"group": "karpenter.k8s.aws"}
        spec = {
            "disruption": {
                "consolidationPolicy": "WhenEmpty",
                "consolidateAfter": "30s",
                "budgets": [{"nodes": "100%"}],
            },
            "template": {
                "metadata": {"labels": labels, "annotations": {"example.com/of": name}},
                "spec": {"requirements": needs, "nodeClassRef": ref},
            },
        }
    if weight is not None:
        spec["weight"] = weight
    kind = "Provisioner" if generation == "v1alpha5" else "NodePool"
    version = f"karpenter.sh/{generation}"
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def a_workload(dice: random.Random, number: int, pools: Sequence[Manifest]) -> Manifest:
    """Return a Deployment; what it asks of labels is what the pools speak of, or something else."""
    made = deployment(
        f"app-{number}",
        dice.randint(1, 6),
        cpu=dice.choice(["100m", "900m", "2", "3500m"]),
        memory=dice.choice(["128Mi", "2Gi"]),
    )
    pod = made["spec"]["template"]["spec"]
    key = dice.choice(OWN)
    terms = [
        need(key, dice.choice([*WORDS, "0", "8"])),
        need(key, operator="Exists"),
        need(key, "a", "3", operator="NotIn"),
        need(key, operator="DoesNotExist"),
        need(key, "4", operator="Gt"),
    ]
    asked = dice.random()
    if asked < 0.4:
        expressions = [dice.choice(terms)]
        required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
        preferred = [{"weight": 1, "preference": {"matchExpressions": expressions}}]
        kind = dice.choice(["requiredDuringScheduling", "preferredDuringScheduling"])
        wanted = required if kind.startswith("required") else preferred
        pod["affinity"] = {"nodeAffinity": {f"{kind}IgnoredDuringExecution": wanted}}
    elif asked < 0.7:
        pod["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": dice.choice([key, "topology.kubernetes.io/zone", "kubernetes.io/hostname"]),
                "whenUnsatisfiable": dice.choice(["DoNotSchedule", "ScheduleAnyway"]),
                "labelSelector": {"matchLabels": {"app": f"app-{number}"}},
            }
        ]
    elif asked < 0.8:
        pod["nodeSelector"] = {"pool": dice.choice(pools)["metadata"]["name"]}
    return made


def unchanged(seed: int) -> tuple[list[Manifest], list[Manifest]]:
    """Return pools with their classes, and workloads."""
    dice = random.Random(seed)
    generations = [dice.choice(GENERATIONS) for _ in range(dice.randint(1, 3))]
    pools = [a_pool(dice, number, generation) for number, generation in enumerate(generations)]
    classes = [a_class(dice), template()]
    return [*classes, *pools], [a_workload(dice, n, pools) for n in range(dice.randint(1, 5))]
