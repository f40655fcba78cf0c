"""What machines are bought by, and pods that each need one of their own."""

from __future__ import annotations

from typing import Final

DEPLOYMENT: Final = "loners"
_GROUND: Final = """
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {{name: default}}
spec:
  amiSelectorTerms: [{{alias: al2023@latest}}]
  {access}
  subnetSelectorTerms: [{{tags: {{karpenter.sh/discovery: {cluster}}}}}]
  securityGroupSelectorTerms: [{{tags: {{karpenter.sh/discovery: {cluster}}}}}]
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {{name: default}}
spec:
  disruption: {{consolidationPolicy: WhenEmpty, consolidateAfter: 1s, budgets: [{{nodes: "100%"}}]}}
  template:
    spec:
      expireAfter: Never
      nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
      requirements:
        - {{key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["{cpus}"]}}
        - {{key: karpenter.sh/capacity-type, operator: In, values: [{capacity_type}]}}
"""
_LONERS: Final = """
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: loners}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: loners}}}}
  template:
    metadata: {{labels: {{app: loners}}}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - {{name: pause, image: pause, resources: {{requests: {{cpu: "1"}}}}}}
"""


def ground(cluster: str, *, cpus: int, capacity_type: str, **access: str) -> str:
    """Return a pool of machines of so many CPUs, given back as soon as they are empty, and its node class.

    The class names one thing for `access`: its role, or instanceProfile.
    """
    (said,) = access.items()
    return _GROUND.format(cluster=cluster, cpus=cpus, capacity_type=capacity_type, access=": ".join(said))


def loners(cluster: str, *, replicas: int, **access: str) -> str:
    """Return the pods with the `ground` they stand on: a machine has room for one of them."""
    of_two = ground(cluster, cpus=2, capacity_type="on-demand", **access)
    return of_two + _LONERS.format(replicas=replicas)
