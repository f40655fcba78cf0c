"""Models of NVIDIA GPUs in EC2's instance types, as NVIDIA's driver of devices will publish them.

The driver is https://github.com/NVIDIA/k8s-dra-driver-gpu, the attributes those of its `deviceinfo.go`, the
names of architectures those of https://github.com/NVIDIA/go-nvlib (`device.go`). It
publishes more (`uuid`, `brand`, `driverVersion`, `pcieBusID` and others), which is not known before a node is
there. EC2 knows a model by name and memory. The driver's memory is what NVML reports: less by what error
correction takes, or a little more than what EC2 rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from treenail.domain.model import labels
from treenail.domain.model.device_versions import version_of
from treenail.domain.model.devices import AttributeValue, Qualified, Span, Traits

NVIDIA_DRIVER: Final = "gpu.nvidia.com"
# What EC2 calls a model: its name and memory (MiB), as the labels of nodes have them.
GpuModel: TypeAlias = tuple[str, str]

_MIB: Final = 2**20
# In thousandths, as quantities of devices are, of what EC2 says: T4 with 15,109 of 16,384 MiB is the least
# that is known, L4 with 23,034 of 22,888 the most. Models of which this is not known are left out.
_LEAST, _MOST = 900, 1020


@dataclass(frozen=True, slots=True)
class _Chip:
    """The name that NVML gives a model, its architecture, and its CUDA compute capability."""

    product: str
    architecture: str
    capability: str


_CHIPS: Final[Mapping[GpuModel, _Chip]] = {
    ("v100", "16384"): _Chip("Tesla V100-SXM2-16GB", "Volta", "7.0.0"),
    ("v100", "32768"): _Chip("Tesla V100-SXM2-32GB", "Volta", "7.0.0"),
    ("t4", "16384"): _Chip("Tesla T4", "Turing", "7.5.0"),
    ("t4g", "16384"): _Chip("NVIDIA T4G", "Turing", "7.5.0"),
    ("a10g", "22888"): _Chip("NVIDIA A10G", "Ampere", "8.6.0"),
    ("a100", "40960"): _Chip("NVIDIA A100-SXM4-40GB", "Ampere", "8.0.0"),
    ("a100", "81920"): _Chip("NVIDIA A100-SXM4-80GB", "Ampere", "8.0.0"),
    ("l4", "22888"): _Chip("NVIDIA L4", "Ada Lovelace", "8.9.0"),
    ("l40s", "45776"): _Chip("NVIDIA L40S", "Ada Lovelace", "8.9.0"),
    ("h100", "81920"): _Chip("NVIDIA H100 80GB HBM3", "Hopper", "9.0.0"),
    ("h200", "144384"): _Chip("NVIDIA H200", "Hopper", "9.0.0"),
    ("b200", "183359"): _Chip("NVIDIA B200", "Blackwell", "10.0.0"),
}


def _traits(model: GpuModel, chip: _Chip) -> Traits:
    said: dict[str, AttributeValue | None] = {
        "type": "gpu",
        "productName": chip.product,
        "architecture": chip.architecture,
        "cudaComputeCapability": version_of(chip.capability),
    }
    memory = int(model[1]) * _MIB
    attributes: dict[Qualified, AttributeValue] = {
        (NVIDIA_DRIVER, name): value for name, value in said.items() if value is not None
    }
    return Traits(
        driver=NVIDIA_DRIVER,
        attributes=tuple(sorted(attributes.items(), key=lambda one: one[0])),
        capacity=(((NVIDIA_DRIVER, "memory"), Span(memory * _LEAST, memory * _MOST)),),
        partly=True,
    )


GPU_TRAITS: Final[Mapping[GpuModel, Traits]] = {model: _traits(model, chip) for model, chip in _CHIPS.items()}


def gpus_by(of: Mapping[str, str]) -> tuple[GpuModel, int] | None:
    """Return the model of the GPUs that labels tell of, and how many; None where the model is not known."""
    name, manufacturer, memory, count = (of.get(key, "") for key in labels.OF_GPUS)
    model, there = (name, memory), labels.integer_of(count)
    return (model, there) if manufacturer == "nvidia" and there and model in GPU_TRAITS else None
