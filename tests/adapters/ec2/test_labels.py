from __future__ import annotations

import pytest

from tests.adapters.ec2.node_classes import record
from treenail.adapters.ec2.labels import TENANCY, requirements_of
from treenail.adapters.ec2.records import Accelerator, Gpu, TypeRecord
from treenail.domain.model import labels
from treenail.domain.model.node_classes import AmiFamily
from treenail.domain.model.requirements import Operator, Requirement, Requirements

ZONES = (("us-east-1a", "use1-az2"), ("us-east-1b", "use1-az4"))
CPU_GENERATIONS = [
    ("m5.large", "m", "5", "false"),
    ("c7i-flex.large", "c", "7", "true"),
    ("u-6tb1.112xlarge", "u", "1", "false"),
    ("u7in-16tb.224xlarge", "u", "7", "false"),
    ("im4gn.large", "im", "4", "false"),
    ("x2iedn.metal", "x", "2", "false"),
]


def requirements(one: TypeRecord, family: AmiFamily = AmiFamily.AL2023) -> Requirements:
    return requirements_of(one, family, region="us-east-1", zones=ZONES)


def single(one: TypeRecord, name: str, family: AmiFamily = AmiFamily.AL2023) -> str | None:
    return requirements(one, family)[name if "/" in name else labels.AWS + name].single


def test_every_label_a_pod_may_select_on_is_defined_for_every_type() -> None:
    # These are of the pool, of a reservation or of Karpenter's KWOK provider.
    others = {labels.NODEPOOL, labels.PROVISIONER, *labels.OF_RESERVATIONS}
    wanted = {key for key in labels.WELL_KNOWN - others if not key.startswith("karpenter.kwok.sh/")}

    assert set(requirements(record("m5.large"))) == wanted | {labels.REGION}


@pytest.mark.parametrize(("name", "category", "generation", "flex"), CPU_GENERATIONS)
def test_category_and_generation_are_read_off_the_name(
    name: str, category: str, generation: str, flex: str
) -> None:
    one = record(name)
    family, size = name.split(".")

    assert single(one, "instance-category") == category
    assert single(one, "instance-generation") == generation
    assert single(one, "instance-capability-flex") == flex
    assert single(one, "instance-family") == family
    assert single(one, "instance-size") == size


@pytest.mark.parametrize(
    "name",
    [
        "instance-ebs-bandwidth",
        "instance-network-bandwidth",
        "instance-local-nvme",
        "instance-gpu-name",
        "instance-gpu-count",
        "instance-accelerator-name",
        "instance-accelerator-count",
    ],
)
def test_a_label_the_type_lacks_does_not_exist(name: str) -> None:
    found = requirements(record("m5.large"))[labels.AWS + name]

    assert found.operator is Operator.DOES_NOT_EXIST


def test_local_storage_shows_only_where_it_is_nvme() -> None:
    assert single(record("c1.medium", local_storage_gb=350), "instance-local-nvme") is None
    assert single(record("c5d.large", local_storage_gb=50, local_nvme=True), "instance-local-nvme") == "50"


def test_names_of_chips_are_written_as_labels_can_be() -> None:
    one = record(
        "g7e.large",
        gpus=(Gpu("RTX PRO Server 6000", "NVIDIA", 1, 98304),),
        accelerators=(Accelerator("Qualcomm AI100", "Qualcomm", 8, 0),),
    )

    assert single(one, "instance-gpu-name") == "rtx-pro-server-6000"
    assert single(one, "instance-gpu-manufacturer") == "nvidia"
    assert single(one, "instance-gpu-memory") == "98304"
    assert single(one, "instance-accelerator-name") == "qualcomm-ai100"
    assert single(one, "instance-accelerator-count") == "8"


def test_chips_of_two_models_have_no_label() -> None:
    one = record("g9.large", gpus=(Gpu("L4", "NVIDIA", 1, 1), Gpu("T4", "NVIDIA", 1, 1)))

    assert single(one, "instance-gpu-count") is None


@pytest.mark.parametrize(
    ("family", "build"),
    [
        (AmiFamily.WINDOWS2019, "10.0.17763"),
        (AmiFamily.WINDOWS2022, "10.0.20348"),
        (AmiFamily.WINDOWS2025, "10.0.26100"),
    ],
)
def test_windows_nodes_say_their_build(family: AmiFamily, build: str) -> None:
    one = record("m5.large")

    assert single(one, labels.OS, family) == "windows"
    assert single(one, labels.WINDOWS_BUILD, family) == build


def test_linux_nodes_have_no_windows_build() -> None:
    one = record("m5.large")

    assert single(one, labels.OS) == "linux"
    assert requirements(one)[labels.WINDOWS_BUILD].operator is Operator.DOES_NOT_EXIST


def test_no_operating_system_runs_where_windows_has_no_image() -> None:
    arm = requirements(record("m6g.large", arch="arm64"), AmiFamily.WINDOWS2022)

    assert arm[labels.OS].operator is Operator.DOES_NOT_EXIST


def test_places_and_ways_of_sale_are_listed() -> None:
    found = requirements(record("p5.large", usage_classes=("capacity-block", "on-demand")))

    assert found[labels.ZONE] == Requirement.of(labels.ZONE, Operator.IN, ("us-east-1a", "us-east-1b"))
    assert found[labels.ZONE_ID] == Requirement.of(labels.ZONE_ID, Operator.IN, ("use1-az2", "use1-az4"))
    assert found[labels.CAPACITY_TYPE].single == "on-demand"
    assert found[labels.REGION].single == "us-east-1"
    assert found[TENANCY].values == {"default", "dedicated"}
