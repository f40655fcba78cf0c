"""Pods that each need a machine of their own, and what such machines are bought by."""

from __future__ import annotations

from typing import Final

DEPLOYMENT: Final = "loners"
_MANIFESTS: Final = """
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
        - {{key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["2"]}}
        - {{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}}
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


def loners(cluster: str, *, replicas: int, **access: str) -> str:
    """Return the manifests. Their node class names one thing for `access`: its role, or instanceProfile."""
    (said,) = access.items()
    return _MANIFESTS.format(cluster=cluster, replicas=replicas, access=": ".join(said))
