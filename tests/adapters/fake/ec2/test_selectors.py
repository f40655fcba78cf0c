from __future__ import annotations

import pytest

from tests.adapters.fake.ec2.rig import A, B, Rig, node_class, request
from treenail.adapters.fake.ec2 import Image, SecurityGroup, Subnet
from treenail.adapters.fake.ec2.selectors import means
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import AmiFamily, Kubelet, NodeClass, SelectorTerm


def term(**fields: str) -> tuple[SelectorTerm]:
    return (SelectorTerm(**fields),)  # type: ignore[arg-type]


def tagged(**tags: str) -> tuple[SelectorTerm]:
    return (SelectorTerm(tags=tuple(tags.items())),)


def zones_of(rig: Rig, of: NodeClass) -> list[str]:
    return sorted({o.zone for t in rig.ec2.instance_types(of, Kubelet()) for o in t.offerings})


def test_any_tag_finds_what_bears_no_tags_of_its_own() -> None:
    assert len(zones_of(Rig(), node_class(subnets=tagged(whatever="yes")))) == 3


def test_a_subnet_is_found_by_its_id_and_offers_its_zone() -> None:
    rig = Rig()
    second = rig.ec2.subnets[1]

    assert zones_of(rig, node_class(subnets=term(id=second.id))) == [second.zone]


def test_subnets_with_tags_are_found_by_those_and_no_others() -> None:
    rig = Rig(
        subnets=(
            Subnet(id="subnet-1", zone=A, cidr="10.0.0.0/24", name="one", tags={"tier": "private"}),
            Subnet(id="subnet-2", zone=B, cidr="10.0.1.0/24", name="two", tags={"tier": "public"}),
        )
    )

    assert zones_of(rig, node_class(subnets=tagged(tier="private"))) == [A]
    assert zones_of(rig, node_class(subnets=tagged(tier="*"))) == [A, B]
    assert zones_of(rig, node_class(subnets=(*term(id="subnet-1"), *tagged(tier="public")))) == [A, B]
    with pytest.raises(NodeClassNotReadyError):
        zones_of(rig, node_class(subnets=(SelectorTerm(name="two", tags=(("tier", "private"),)),)))


@pytest.mark.parametrize(
    ("of", "why"),
    [
        (node_class(subnets=term(id="subnet-0")), "selector of subnets finds nothing .id subnet-0"),
        (node_class(subnets=()), "subnets finds nothing .it has no terms"),
        (node_class(subnets=(SelectorTerm(),)), "subnets finds nothing .an empty term"),
        (node_class(groups=term(id="sg-0")), "selector of security groups finds nothing .id sg-0"),
        (node_class(groups=()), "security groups finds nothing"),
        (node_class(amis=term(id="ami-0")), "selector of images finds nothing .id ami-0"),
        (node_class(amis=term(alias="beos@latest")), "images finds nothing .alias beos@latest"),
        (node_class(amis=term(alias="al2023")), "images finds nothing .alias al2023"),
        (node_class(family=AmiFamily.CUSTOM), "images finds nothing .it has no terms"),
    ],
)
def test_a_selector_that_finds_nothing_makes_its_class_unready(of: NodeClass, why: str) -> None:
    rig = Rig()

    with pytest.raises(NodeClassNotReadyError, match=f"EC2NodeClass/default: .*{why}"):
        rig.ec2.instance_types(of, Kubelet())
    with pytest.raises(NodeClassNotReadyError, match=why):
        rig.ec2.launch(request(of=of))


def test_users_add_their_own() -> None:
    rig = Rig()
    rig.ec2.add_subnet(Subnet(id="subnet-mine", zone=B, cidr="10.0.0.0/24"))
    rig.ec2.add_security_group(SecurityGroup(id="sg-mine"))
    rig.ec2.add_image(Image(id="ami-mine", arch="amd64"))
    own = node_class(subnets=term(id="subnet-mine"), groups=term(id="sg-mine"), amis=term(id="ami-mine"))

    (instance,) = rig.ec2.launch(request("m5.large/b", of=own)).instances

    assert instance.image_id == "ami-mine"
    assert rig.ec2.all_instances()[0].subnet_id == "subnet-mine"
    assert [g.id for g in rig.ec2.security_groups][-1] == "sg-mine"


def test_subnets_do_not_overlap() -> None:
    with pytest.raises(ValueError, match="conflicts"):
        Rig().ec2.add_subnet(Subnet(id="subnet-mine", zone=B, cidr="192.168.1.0/24"))


def test_a_launch_template_brings_its_own_security_groups() -> None:
    of = node_class(groups=(), launch_template="lt-by-hand")

    assert len(Rig().ec2.launch(request(of=of)).instances) == 1


def test_each_family_and_version_has_its_own_images_that_stay() -> None:
    classes = (
        node_class(family=AmiFamily.AL2),
        node_class(family=AmiFamily.BOTTLEROCKET),
        node_class(amis=term(alias="al2023@latest")),
        node_class(amis=term(alias="al2023@v20260101")),
        node_class(amis=term(ssm_parameter="/service/my-ami")),
        node_class(amis=tagged(team="web"), family=AmiFamily.CUSTOM),
        node_class(amis=term(name="my-image-*"), family=AmiFamily.CUSTOM),
    )

    def images() -> list[str]:
        rig = Rig()
        return [
            rig.ec2.launch(request(call=f"t{n}", of=of)).instances[0].image_id for n, of in enumerate(classes)
        ]

    assert len(set(images())) == len(classes)
    assert images() == images()


def test_the_newest_image_of_a_users_is_taken_and_only_of_the_owner_asked_for() -> None:
    rig = Rig()
    rig.ec2.add_image(Image(id="ami-old", arch="amd64", tags={"team": "web"}))
    rig.ec2.add_image(Image(id="ami-new", arch="amd64", tags={"team": "web"}))
    rig.ec2.add_image(Image(id="ami-theirs", arch="amd64", owner="999999999999", tags={"team": "web"}))
    terms = (SelectorTerm(tags=(("team", "web"),), owner="self"),)

    (instance,) = rig.ec2.launch(request(of=node_class(amis=terms))).instances

    assert instance.image_id == "ami-new"


def test_the_catalogue_is_asked_once_for_what_does_not_change() -> None:
    rig = Rig()

    first = rig.ec2.instance_types(node_class(), Kubelet())
    again = rig.ec2.instance_types(node_class(), Kubelet())
    other = rig.ec2.instance_types(node_class(subnets=term(id=rig.ec2.subnets[0].id)), Kubelet())

    assert again is first
    assert other != first


@pytest.mark.parametrize(("asked", "image"), [("golden-1", "ami-1"), ("golden-?", "ami-2"), ("*-2", "ami-2")])
def test_an_image_with_a_name_and_no_tags_is_found_by_that_name_and_by_any_tag(
    asked: str, image: str
) -> None:
    rig = Rig()
    rig.ec2.add_image(Image(id="ami-1", arch="amd64", name="golden-1"))
    rig.ec2.add_image(Image(id="ami-2", arch="amd64", name="golden-2"))
    terms = (SelectorTerm(name=asked, tags=(("team", "web"),)),)

    (instance,) = rig.ec2.launch(request(of=node_class(amis=terms))).instances

    assert instance.image_id == image


def test_a_security_group_with_a_name_and_no_tags_is_not_found_by_another_name() -> None:
    group = SecurityGroup(id="sg-1", name="nodes[a]")

    assert means(SelectorTerm(name="nodes[a]"), group)
    assert means(SelectorTerm(tags=(("team", "web"),)), group)
    assert not means(SelectorTerm(name="nodesa"), group)
    assert not means(SelectorTerm(name="nodesa", tags=(("team", "web"),)), group)


def test_a_family_that_is_published_anew_has_other_images_as_its_latest_alone() -> None:
    rig = Rig()
    latest, pinned = node_class(amis=term(alias="al2023@latest")), node_class(amis=term(alias="al2023@v1"))

    def images() -> list[str]:
        call = rig.ec2.outside.publish_image("al2023@latest")
        asked = [latest, node_class(family=AmiFamily.AL2023), pinned, node_class(family=AmiFamily.AL2)]
        return [
            rig.ec2.launch(request(call=f"{call}{n}{len(rig.ec2.all_instances())}", of=of))
            .instances[0]
            .image_id
            for n, of in enumerate(asked)
        ]

    first, second = images(), images()

    assert first[:1] == first[1:2] != second[:1] == second[1:2]
    assert first[2:] == second[2:]
