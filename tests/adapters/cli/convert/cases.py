"""Objects of the old kinds, one for each way of writing them that people bring to a conversion."""

from __future__ import annotations

from typing import Final

_CONTROLLED: Final = """
metadata:
  creationTimestamp: "2023-07-10T13:41:16Z"
  generation: 1
  name: {name}
  resourceVersion: "44858469"
  uid: 71fc8dfd-7ae5-452e-9d72-57e1fca75fdb
"""

EVERY_FIELD: Final = """
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: default
spec:
  providerRef:
    name: default
  taints: [{key: example.com/special, effect: NoSchedule}]
  startupTaints: [{key: example.com/starting, effect: NoSchedule}]
  labels: {team: a}
  annotations: {example.com/owner: "team-a"}
  requirements:
    - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
    - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4", "8", "16", "32"]}
    - {key: karpenter.k8s.aws/instance-hypervisor, operator: In, values: [nitro]}
    - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["2"]}
    - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a, us-east-1b]}
    - {key: kubernetes.io/arch, operator: In, values: [arm64, amd64]}
    - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
  kubeletConfiguration:
    clusterDNS: [10.0.1.100]
    containerRuntime: containerd
    systemReserved: {cpu: 100m, memory: 100Mi, ephemeral-storage: 1Gi}
    kubeReserved: {cpu: 200m, memory: 100Mi, ephemeral-storage: 3Gi}
    evictionHard: {memory.available: 5%, nodefs.available: 10%, nodefs.inodesFree: 10%}
    evictionSoft: {memory.available: 500Mi, nodefs.available: 15%, nodefs.inodesFree: 15%}
    evictionSoftGracePeriod: {memory.available: 1m, nodefs.available: 1m30s, nodefs.inodesFree: 2m}
    evictionMaxPodGracePeriod: 60
    imageGCHighThresholdPercent: 85
    imageGCLowThresholdPercent: 80
    cpuCFSQuota: true
    podsPerCore: 2
    maxPods: 20
  limits: {resources: {cpu: "1000", memory: 1000Gi}}
  consolidation: {enabled: false}
  ttlSecondsUntilExpired: 2592000
  ttlSecondsAfterEmpty: 30
  weight: 10
"""
WITHOUT_REQUIREMENTS: Final = """
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec:
  providerRef: {name: default}
  labels: {team: a}
  limits: {resources: {cpu: "1000", memory: 1000Gi}}
  consolidation: {enabled: false}
  ttlSecondsUntilExpired: 2592000
  ttlSecondsAfterEmpty: 30
  weight: 10
"""
SOME_REQUIREMENTS: Final = """
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec:
  providerRef: {name: default}
  requirements:
    - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large, m5.xlarge]}
    - {key: beta.kubernetes.io/arch, operator: In, values: [arm64, amd64]}
  consolidation: {enabled: true}
"""
FROM_KUBECTL: Final = (
    """
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner"""
    + _CONTROLLED.format(name="default")
    + """spec:
  labels: {type: app1}
  limits: {resources: {cpu: "100", memory: 1000Gi}}
  providerRef: {name: default}
  requirements:
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
  - {key: karpenter.k8s.aws/instance-family, operator: In, values: [c5, r5, m5]}
  - {key: kubernetes.io/os, operator: In, values: [linux]}
  - {key: kubernetes.io/arch, operator: In, values: [amd64]}
  - {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}
  - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ["2"]}
status: {}
"""
)
PROVIDER_WITHIN: Final = """
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: default}
spec:
  consolidation: {enabled: true}
  labels: {team: a}
  requirements:
    - {key: kubernetes.io/arch, operator: Exists}
    - {key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}
  provider:
    subnetSelector: {karpenter.sh/discovery: demo}
    securityGroupSelector: {karpenter.sh/discovery: demo}
    context: fleet-context
    instanceProfile: KarpenterNodeInstanceProfile-demo
    tags: {managed: "true"}
    metadataOptions:
      {httpEndpoint: disabled, httpProtocolIPv6: enabled, httpPutResponseHopLimit: 2, httpTokens: required}
    blockDeviceMappings:
      - deviceName: /dev/xvda
        ebs:
          volumeSize: 100Gi
          volumeType: gp3
          iops: 10000
          encrypted: true
          kmsKeyID: arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab
          deleteOnTermination: true
          throughput: 125
          snapshotID: snap-0123456789
"""

_TEMPLATE: Final = """
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {{name: default}}
spec:
  {family}
  subnetSelector: {{{subnets}}}
  securityGroupSelector: {{{groups}}}
  blockDeviceMappings:
    - deviceName: /dev/xvdb
      ebs: {{volumeSize: 100Gi, volumeType: gp3, deleteOnTermination: true}}
  tags: {{MyTag: "1234", MyBackupTag: "yes"}}
  userData: |
    [settings.kubernetes]
    kube-api-qps = 30
    [settings.kubernetes.eviction-hard]
    "memory.available" = "10%"
"""
_SELECTED: Final = "karpenter.sh/discovery: demo"
_LISTS: Final = "discovery-1: 'demo-1,demo-2,demo-3', discovery-2: 'demo-4, demo-5'"


def template(
    family: str = "amiFamily: Bottlerocket", subnets: str = _SELECTED, groups: str = _SELECTED
) -> str:
    return _TEMPLATE.format(family=family, subnets=subnets, groups=groups)


def by_images(selector: str) -> str:
    return template(f"amiFamily: Bottlerocket\n  amiSelector: {{{selector}}}")


BY_IDS: Final = "images by ids, owners, name and tags"
TEMPLATES: Final = {
    "a family": template(),
    "no family": template(family=""),
    BY_IDS: by_images(
        "aws::ids: 'ami-123,ami-456', aws::owners: 'self,amazon', aws::name: test name, MyTag: '*'"
    ),
    "images by owners, name and lists of tags": by_images(
        "aws::owners: 'self,amazon', aws::name: test name, key-1: 'v1,v2,v3', key-2: 'v4,v5'"
    ),
    "lists of tags of groups": template(groups=_LISTS),
    "lists of tags of subnets": template(subnets=_LISTS),
    "from kubectl": "\napiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate"
    + _CONTROLLED.format(name="default")
    + f"""spec:
  securityGroupSelector: {{{_SELECTED}}}
  subnetSelector: {{{_SELECTED}}}
  tags: {{managed: "true"}}
status:
  securityGroups: [{{id: sg-0d92f39ac96c4b1b4}}]
  subnets: [{{id: subnet-0537532d0cfbdb536, zone: eu-west-1b}}]
""",
}
PROVISIONERS: Final = {
    "every field": EVERY_FIELD,
    "no requirements": WITHOUT_REQUIREMENTS,
    "some requirements": SOME_REQUIREMENTS,
    "from kubectl": FROM_KUBECTL,
    "a provider within": PROVIDER_WITHIN,
}
ANOTHER_KIND: Final = """
apiVersion: test.sh/v1
kind: Test
metadata: {name: default}   # as it is
spec: {testKey:   testValue}
"""
