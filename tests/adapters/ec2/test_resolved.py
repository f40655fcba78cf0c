from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tests.adapters.ec2.node_classes import instance_type
from treenail.adapters.ec2.resolved import Image, PlacementGroup, Resolved, Subnet, Variant

AT = datetime(2026, 1, 1, tzinfo=UTC)


def image(name: str, arch: str = "amd64", variant: Variant = Variant.ANY) -> Image:
    return Image(id=f"ami-{name}", arch=arch, name=name, created_at=AT, variant=variant)


def subnet(name: str, zone: str, free: int) -> Subnet:
    return Subnet(id=name, zone=zone, zone_id=f"id-{zone}", free_addresses=free)


def resolved(*images: Image, from_template: bool = False) -> Resolved:
    subnets = (subnet("s1", "b", 9), subnet("s2", "a", 7), subnet("s3", "b", 5))
    return Resolved(subnets=subnets, security_groups=(), images=images, from_template=from_template)


@pytest.mark.parametrize(
    ("name", "variants"),
    [
        ("m5.large", {"any", "standard"}),
        ("g5.xlarge", {"any", "nvidia"}),
        ("inf2.xlarge", {"any", "neuron"}),
    ],
)
def test_a_type_wants_images_that_have_the_drivers_of_its_chips(name: str, variants: set[str]) -> None:
    assert {variant.value for variant in Variant if variant.suits(instance_type(name))} == variants


def test_a_type_runs_the_first_image_of_its_architecture_and_variant() -> None:
    found = resolved(
        image("1", "arm64", Variant.NVIDIA), image("2"), image("3"), image("4", "arm64", Variant.STANDARD)
    )
    types = [instance_type(name) for name in ("m6g.large", "m5.large", "g5.xlarge", "g5g.xlarge")]

    runs = [found.image_for(one) for one in types]

    assert [one and one.id for one in runs] == ["ami-4", "ami-2", "ami-2", "ami-1"]


def test_a_type_without_an_image_cannot_be_launched_unless_a_template_says_which() -> None:
    large = instance_type("m6g.large")

    assert not resolved(image("1")).launches(large)
    assert resolved(image("1")).image_for(large) is None
    assert resolved(image("1", "arm64")).launches(large)
    assert resolved(from_template=True).launches(large)


def test_the_zones_of_the_subnets_are_told_once_each() -> None:
    assert resolved().zones == (("a", "id-a"), ("b", "id-b"))


def test_a_type_that_its_group_does_not_take_is_not_launched() -> None:
    group = PlacementGroup(id="pg-1", name="close", strategy="cluster", without=frozenset({"t3.large"}))
    close = replace(resolved(image("1")), placement_group=group)

    assert close.launches(instance_type("m5.large"))
    assert not close.launches(instance_type("t3.large"))
    assert resolved(image("1")).launches(instance_type("t3.large"))
