"""Instance types as Karpenter's reference lists them: AL2023, no block devices, default kubelet.

Labels are written without the prefix karpenter.k8s.aws/instance-; all have os=linux and their name.
"""

from __future__ import annotations

from dataclasses import dataclass

from treenail.domain import labels


@dataclass(frozen=True, slots=True)
class Published:
    """An instance type of the reference."""

    name: str
    resources: str
    shown_labels: str

    @property
    def allocatable(self) -> dict[str, str]:
        return _pairs(self.resources)

    @property
    def labels(self) -> dict[str, str]:
        shown = _pairs(self.shown_labels)
        common = {labels.INSTANCE_TYPE: self.name, labels.OS: "linux", labels.ARCH: shown.pop("arch")}
        return common | {f"karpenter.k8s.aws/instance-{key}": value for key, value in shown.items()}


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split())


PUBLISHED = (
    Published(
        "t3.large",
        "cpu=1930m ephemeral-storage=17Gi memory=6837Mi pods=35",
        "arch=amd64 capability-flex=false category=t cpu=2 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=2500 ebs-bandwidth=2780 "
        "encryption-in-transit-supported=false family=t3 generation=3 hypervisor=nitro "
        "memory=8192 network-bandwidth=512 size=large",
    ),
    Published(
        "c5.xlarge",
        "cpu=3920m ephemeral-storage=17Gi memory=6584Mi pods=58 vpc.amazonaws.com/pod-eni=18",
        "arch=amd64 capability-flex=false category=c cpu=4 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=3400 ebs-bandwidth=4750 "
        "encryption-in-transit-supported=false family=c5 generation=5 hypervisor=nitro "
        "memory=8192 network-bandwidth=1250 size=xlarge",
    ),
    Published(
        "m5.large",
        "cpu=1930m ephemeral-storage=17Gi memory=6903Mi pods=29 vpc.amazonaws.com/pod-eni=9",
        "arch=amd64 capability-flex=false category=m cpu=2 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=3100 ebs-bandwidth=4750 "
        "encryption-in-transit-supported=false family=m5 generation=5 hypervisor=nitro "
        "memory=8192 network-bandwidth=750 size=large",
    ),
    Published(
        "t4g.small",
        "cpu=1930m ephemeral-storage=17Gi memory=1359Mi pods=11",
        "arch=arm64 capability-flex=false category=t cpu=2 cpu-manufacturer=aws "
        "cpu-sustained-clock-speed-mhz=2500 ebs-bandwidth=2085 "
        "encryption-in-transit-supported=false family=t4g generation=4 hypervisor=nitro "
        "memory=2048 network-bandwidth=128 size=small",
    ),
    Published(
        "t4g.nano",
        "cpu=1930m ephemeral-storage=17Gi memory=15Mi pods=4",
        "arch=arm64 capability-flex=false category=t cpu=2 cpu-manufacturer=aws "
        "cpu-sustained-clock-speed-mhz=2500 ebs-bandwidth=2085 "
        "encryption-in-transit-supported=false family=t4g generation=4 hypervisor=nitro "
        "memory=512 network-bandwidth=32 size=nano",
    ),
    Published(
        "a1.medium",
        "cpu=940m ephemeral-storage=17Gi memory=1392Mi pods=8 vpc.amazonaws.com/pod-eni=10",
        "arch=arm64 capability-flex=false category=a cpu=1 cpu-manufacturer=aws "
        "cpu-sustained-clock-speed-mhz=2300 ebs-bandwidth=3500 "
        "encryption-in-transit-supported=false family=a1 generation=1 hypervisor=nitro "
        "memory=2048 network-bandwidth=500 size=medium",
    ),
    Published(
        "m6g.large",
        "cpu=1930m ephemeral-storage=17Gi memory=6844Mi pods=29 vpc.amazonaws.com/pod-eni=9",
        "arch=arm64 capability-flex=false category=m cpu=2 cpu-manufacturer=aws "
        "cpu-sustained-clock-speed-mhz=2500 ebs-bandwidth=4750 "
        "encryption-in-transit-supported=false family=m6g generation=6 hypervisor=nitro "
        "memory=8192 network-bandwidth=750 size=large",
    ),
    Published(
        "c7g.16xlarge",
        "cpu=63770m ephemeral-storage=17Gi memory=112720Mi pods=737 vpc.amazonaws.com/efa=1 "
        "vpc.amazonaws.com/pod-eni=107",
        "arch=arm64 capability-flex=false category=c cpu=64 cpu-manufacturer=aws "
        "cpu-sustained-clock-speed-mhz=2600 ebs-bandwidth=20000 "
        "encryption-in-transit-supported=true family=c7g generation=7 hypervisor=nitro "
        "memory=131072 network-bandwidth=30000 size=16xlarge",
    ),
    Published(
        "r8g.48xlarge",
        "cpu=191450m ephemeral-storage=17Gi memory=1446378Mi pods=737 vpc.amazonaws.com/efa=1 "
        "vpc.amazonaws.com/pod-eni=107",
        "arch=arm64 capability-flex=false category=r cpu=192 cpu-manufacturer=aws "
        "cpu-sustained-clock-speed-mhz=2700 ebs-bandwidth=40000 "
        "encryption-in-transit-supported=true family=r8g generation=8 hypervisor=nitro "
        "memory=1572864 network-bandwidth=50000 size=48xlarge",
    ),
    Published(
        "t2.micro",
        "cpu=940m ephemeral-storage=17Gi memory=548Mi pods=4",
        "arch=amd64 capability-flex=false category=t cpu=1 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=2500 encryption-in-transit-supported=false family=t2 "
        "generation=2 hypervisor=xen memory=1024 size=micro",
    ),
    Published(
        "m1.small",
        "cpu=940m ephemeral-storage=17Gi memory=1166Mi pods=8",
        "arch=amd64 capability-flex=false category=m cpu=1 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=0 encryption-in-transit-supported=false family=m1 "
        "generation=1 hypervisor=xen memory=1740 size=small",
    ),
    Published(
        "c4.large",
        "cpu=1930m ephemeral-storage=17Gi memory=2878Mi pods=29",
        "arch=amd64 capability-flex=false category=c cpu=2 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=2900 ebs-bandwidth=500 "
        "encryption-in-transit-supported=false family=c4 generation=4 hypervisor=xen memory=3840 "
        "size=large",
    ),
    Published(
        "m7i-flex.large",
        "cpu=1930m ephemeral-storage=17Gi memory=6903Mi pods=29 vpc.amazonaws.com/pod-eni=3",
        "arch=amd64 capability-flex=true category=m cpu=2 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=3200 ebs-bandwidth=10000 "
        "encryption-in-transit-supported=true family=m7i-flex generation=7 hypervisor=nitro "
        "memory=8192 network-bandwidth=390 size=large",
    ),
    Published(
        "c6a.xlarge",
        "cpu=3920m ephemeral-storage=17Gi memory=6584Mi pods=58 vpc.amazonaws.com/pod-eni=18",
        "arch=amd64 capability-flex=false category=c cpu=4 cpu-manufacturer=amd "
        "cpu-sustained-clock-speed-mhz=3600 ebs-bandwidth=10000 "
        "encryption-in-transit-supported=true family=c6a generation=6 hypervisor=nitro "
        "memory=8192 network-bandwidth=1562 size=xlarge",
    ),
    Published(
        "i3en.24xlarge",
        "cpu=95690m ephemeral-storage=17Gi memory=718987Mi pods=737 vpc.amazonaws.com/efa=1 "
        "vpc.amazonaws.com/pod-eni=107",
        "arch=amd64 capability-flex=false category=i cpu=96 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=3100 ebs-bandwidth=19000 "
        "encryption-in-transit-supported=true family=i3en generation=3 hypervisor=nitro "
        "local-nvme=60000 memory=786432 network-bandwidth=100000 size=24xlarge",
    ),
    Published(
        "im4gn.4xlarge",
        "cpu=15890m ephemeral-storage=17Gi memory=57632Mi pods=234 vpc.amazonaws.com/pod-eni=54",
        "arch=arm64 capability-flex=false category=im cpu=16 cpu-manufacturer=aws "
        "cpu-sustained-clock-speed-mhz=2500 ebs-bandwidth=10000 "
        "encryption-in-transit-supported=true family=im4gn generation=4 hypervisor=nitro "
        "local-nvme=7500 memory=65536 network-bandwidth=25000 size=4xlarge",
    ),
    Published(
        "m5.metal",
        "cpu=95690m ephemeral-storage=17Gi memory=355262Mi pods=737 vpc.amazonaws.com/pod-eni=120",
        "arch=amd64 capability-flex=false category=m cpu=96 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=3100 ebs-bandwidth=19000 "
        "encryption-in-transit-supported=false family=m5 generation=5 hypervisor= memory=393216 "
        "network-bandwidth=25000 size=metal",
    ),
    Published(
        "g4dn.xlarge",
        "cpu=3920m ephemeral-storage=17Gi memory=14481Mi nvidia.com/gpu=1 pods=29 "
        "vpc.amazonaws.com/pod-eni=39",
        "arch=amd64 capability-flex=false category=g cpu=4 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=2500 ebs-bandwidth=3500 "
        "encryption-in-transit-supported=true family=g4dn generation=4 gpu-count=1 "
        "gpu-manufacturer=nvidia gpu-memory=16384 gpu-name=t4 hypervisor=nitro local-nvme=125 "
        "memory=16384 network-bandwidth=5000 size=xlarge",
    ),
    Published(
        "g5.48xlarge",
        "cpu=191450m ephemeral-storage=17Gi memory=723299Mi nvidia.com/gpu=8 pods=345 "
        "vpc.amazonaws.com/efa=1 vpc.amazonaws.com/pod-eni=115",
        "arch=amd64 capability-flex=false category=g cpu=192 cpu-manufacturer=amd "
        "cpu-sustained-clock-speed-mhz=3300 ebs-bandwidth=19000 "
        "encryption-in-transit-supported=true family=g5 generation=5 gpu-count=8 "
        "gpu-manufacturer=nvidia gpu-memory=22888 gpu-name=a10g hypervisor=nitro local-nvme=7600 "
        "memory=786432 network-bandwidth=100000 size=48xlarge",
    ),
    Published(
        "g5g.xlarge",
        "cpu=3920m ephemeral-storage=17Gi memory=6525Mi nvidia.com/gpu=1 pods=58 "
        "vpc.amazonaws.com/pod-eni=18",
        "arch=arm64 capability-flex=false category=g cpu=4 cpu-manufacturer=aws "
        "cpu-sustained-clock-speed-mhz=2500 ebs-bandwidth=4750 "
        "encryption-in-transit-supported=false family=g5g generation=5 gpu-count=1 "
        "gpu-manufacturer=nvidia gpu-memory=16384 gpu-name=t4g hypervisor=nitro memory=8192 "
        "network-bandwidth=1250 size=xlarge",
    ),
    Published(
        "p4d.24xlarge",
        "cpu=95690m ephemeral-storage=17Gi memory=1082712Mi nvidia.com/gpu=8 pods=737 "
        "vpc.amazonaws.com/efa=4 vpc.amazonaws.com/pod-eni=62",
        "arch=amd64 capability-flex=false category=p cpu=96 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=3000 ebs-bandwidth=19000 "
        "encryption-in-transit-supported=true family=p4d generation=4 gpu-count=8 "
        "gpu-manufacturer=nvidia gpu-memory=40960 gpu-name=a100 hypervisor=nitro local-nvme=8000 "
        "memory=1179648 network-bandwidth=400000 size=24xlarge",
    ),
    Published(
        "p5.48xlarge",
        "cpu=191450m ephemeral-storage=17Gi memory=1938410Mi nvidia.com/gpu=8 pods=100 "
        "vpc.amazonaws.com/efa=32 vpc.amazonaws.com/pod-eni=120",
        "arch=amd64 capability-flex=false category=p cpu=192 cpu-manufacturer=amd "
        "cpu-sustained-clock-speed-mhz=3600 ebs-bandwidth=80000 "
        "encryption-in-transit-supported=true family=p5 generation=5 gpu-count=8 "
        "gpu-manufacturer=nvidia gpu-memory=81920 gpu-name=h100 hypervisor=nitro local-nvme=30400 "
        "memory=2097152 network-bandwidth=3200000 size=48xlarge",
    ),
    Published(
        "inf1.24xlarge",
        "aws.amazon.com/neuron=16 aws.amazon.com/neuroncore=64 cpu=95690m ephemeral-storage=17Gi "
        "memory=177976Mi pods=321 vpc.amazonaws.com/efa=1 vpc.amazonaws.com/pod-eni=111",
        "arch=amd64 accelerator-count=16 accelerator-manufacturer=aws accelerator-name=inferentia "
        "capability-flex=false category=inf cpu=96 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=2500 ebs-bandwidth=19000 "
        "encryption-in-transit-supported=true family=inf1 generation=1 hypervisor=nitro "
        "memory=196608 network-bandwidth=100000 size=24xlarge",
    ),
    Published(
        "trn1.32xlarge",
        "aws.amazon.com/neuron=16 aws.amazon.com/neuroncore=32 cpu=127610m ephemeral-storage=17Gi "
        "memory=481894Mi pods=247 vpc.amazonaws.com/efa=8 vpc.amazonaws.com/pod-eni=82",
        "arch=amd64 accelerator-count=16 accelerator-manufacturer=aws accelerator-name=trainium "
        "capability-flex=false category=trn cpu=128 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=3500 ebs-bandwidth=80000 "
        "encryption-in-transit-supported=true family=trn1 generation=1 hypervisor=nitro "
        "local-nvme=7600 memory=524288 network-bandwidth=800000 size=32xlarge",
    ),
    Published(
        "trn2.48xlarge",
        "aws.amazon.com/neuron=16 aws.amazon.com/neuroncore=128 cpu=191450m "
        "ephemeral-storage=17Gi memory=1938410Mi pods=100 vpc.amazonaws.com/efa=16",
        "arch=amd64 accelerator-count=16 accelerator-manufacturer=aws accelerator-name=trainium2 "
        "capability-flex=false category=trn cpu=192 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=3500 ebs-bandwidth=80000 "
        "encryption-in-transit-supported=true family=trn2 generation=2 hypervisor=nitro "
        "local-nvme=7600 memory=2097152 network-bandwidth=3200000 size=48xlarge",
    ),
    Published(
        "dl2q.24xlarge",
        "cpu=95690m ephemeral-storage=17Gi memory=718987Mi pods=737 vpc.amazonaws.com/efa=1 "
        "vpc.amazonaws.com/pod-eni=107",
        "arch=amd64 accelerator-count=8 accelerator-manufacturer=qualcomm "
        "accelerator-name=qualcomm-ai100 capability-flex=false category=dl cpu=96 "
        "cpu-manufacturer=intel cpu-sustained-clock-speed-mhz=2500 ebs-bandwidth=19000 "
        "encryption-in-transit-supported=true family=dl2q generation=2 hypervisor=nitro "
        "memory=786432 network-bandwidth=100000 size=24xlarge",
    ),
    Published(
        "u-6tb1.56xlarge",
        "cpu=223370m ephemeral-storage=17Gi memory=5811134Mi pods=737",
        "arch=amd64 capability-flex=false category=u cpu=224 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=2100 ebs-bandwidth=38000 "
        "encryption-in-transit-supported=true family=u-6tb1 generation=1 hypervisor=nitro "
        "memory=6291456 network-bandwidth=100000 size=56xlarge",
    ),
    Published(
        "x2iedn.32xlarge",
        "cpu=127610m ephemeral-storage=17Gi memory=3871269Mi pods=737 vpc.amazonaws.com/efa=1 "
        "vpc.amazonaws.com/pod-eni=107",
        "arch=amd64 capability-flex=false category=x cpu=128 cpu-manufacturer=intel "
        "cpu-sustained-clock-speed-mhz=3500 ebs-bandwidth=80000 "
        "encryption-in-transit-supported=true family=x2iedn generation=2 hypervisor=nitro "
        "local-nvme=3800 memory=4194304 network-bandwidth=100000 size=32xlarge",
    ),
)
