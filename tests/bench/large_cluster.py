"""A cluster of a size that matters, with steady churn."""

from __future__ import annotations

import random

from treenail.adapters.embed.rehearsal import Rehearsal

POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 60s}
  template:
    spec:
      requirements:
        - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["4"]}
        - {key: karpenter.k8s.aws/instance-cpu, operator: Lt, values: ["9"]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {discovery: demo}}]
  securityGroupSelectorTerms: [{tags: {discovery: demo}}]
"""

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: %(name)s}
spec:
  replicas: %(replicas)d
  selector: {matchLabels: {app: %(name)s}}
  template:
    metadata: {labels: {app: %(name)s}}
    spec:
      containers:
        - {name: c, image: pause, resources: {requests: {cpu: %(cpu)s, memory: 1Gi}}}
"""

DEPLOYMENTS = 30


class LargeCluster:
    """`pods` pods of thirty Deployments, made at once; then churn of a percent of them a minute or so."""

    def __init__(self, pods: int) -> None:
        self.rehearsal = Rehearsal(seed=1)
        self._dice = random.Random(1)
        self._step = pods // 100
        self._sizes = [pods // DEPLOYMENTS] * DEPLOYMENTS
        self.rehearsal.apply(POOL)
        for number, replicas in enumerate(self._sizes):
            cpu = self._dice.choice(("500m", "700m", "1"))
            self.rehearsal.apply(DEPLOYMENT % {"name": f"d{number}", "replicas": replicas, "cpu": cpu})

    @property
    def pods(self) -> int:
        return sum(self._sizes)

    def settle(self) -> None:
        """Let all pods come to run."""
        while self.rehearsal.running() < self.pods:
            assert self.rehearsal.seconds < 900, self.rehearsal.summary()
            self.rehearsal.run(30)

    def churn(self, *, until: float) -> None:
        """Scale one Deployment up or down every half minute, up to second `until`."""
        while self.rehearsal.seconds < until:
            number = self._dice.randrange(DEPLOYMENTS)
            change = self._dice.randint(-self._step, self._step)
            self._sizes[number] = max(0, self._sizes[number] + change)
            self.rehearsal.scale(f"d{number}", self._sizes[number])
            self.rehearsal.run(30)
