from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.ec2.discovery.account import REF, Account, node_class
from tests.adapters.ec2.node_classes import instance_type
from treenail.adapters.ec2.discovery.images import Images
from treenail.adapters.ec2.resolved import Variant
from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import AmiFamily, SelectorTerm

GET, DESCRIBE = "ssm.get_parameter", "ec2.describe_images"
AVAILABLE = {"Name": "state", "Values": ["available"]}
AL2023 = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2023"
LATEST = SelectorTerm(alias="al2023@latest")


def images(account: Account) -> Images:
    return Images(account.aws, account.caches, lambda: "1.34")


def image(
    name: str, arch: str = "x86_64", *, created: str = "2025-05-01", deprecated: str = ""
) -> dict[str, object]:
    end = {"DeprecationTime": f"{deprecated}T00:00:00.000Z"} if deprecated else {}
    created = f"{created}T09:00:00.000Z"
    return {"ImageId": f"ami-{name}", "Name": name, "Architecture": arch, "CreationDate": created, **end}


def publishes(account: Account, **parameters: str) -> None:
    """Publish images of AL2023 under these names, of those asked for one after the other."""
    for name in ("x86_64/standard", "x86_64/nvidia", "x86_64/neuron", "arm64/standard", "arm64/nvidia"):
        found = parameters.get(name.replace("/", "_"))
        if found is None:
            account.refuses(GET, "ParameterNotFound")
        else:
            asked = f"{AL2023}/{name}/recommended/image_id"
            account.answers(GET, {"Parameter": {"Value": found}}, Name=asked)


def test_an_alias_means_the_images_that_are_published_for_the_version_of_the_cluster(
    account: Account,
) -> None:
    publishes(
        account, x86_64_standard="ami-s", x86_64_nvidia="ami-n", x86_64_neuron="ami-i", arm64_standard="ami-a"
    )
    account.answers(
        DESCRIBE,
        {"Images": [image("s"), image("n"), image("i"), image("a", "arm64")]},
        Filters=[{"Name": "image-id", "Values": ["ami-a", "ami-i", "ami-n", "ami-s"]}, AVAILABLE],
        IncludeDeprecated=True,
        MaxResults=1000,
    )

    found = images(account).of(node_class(images=(LATEST,)))

    assert [(one.id, one.arch, one.variant) for one in found] == [
        ("ami-a", "arm64", Variant.STANDARD),
        ("ami-i", "amd64", Variant.NEURON),
        ("ami-n", "amd64", Variant.NVIDIA),
        ("ami-s", "amd64", Variant.STANDARD),
    ]


def test_a_class_without_terms_means_the_latest_images_of_its_family(account: Account) -> None:
    al2 = "/aws/service/eks/optimized-ami/1.34/amazon-linux-2"
    for suffix, published in (("", "ami-x"), ("-arm64", "ami-a"), ("-gpu", "ami-g")):
        asked = f"{al2}{suffix}/recommended/image_id"
        account.answers(GET, {"Parameter": {"Value": published}}, Name=asked)
    account.answers(DESCRIBE, {"Images": [image("x"), image("a", "arm64"), image("g")]})

    found = images(account).of(node_class(family=AmiFamily.AL2))

    assert sorted((one.id, one.variant) for one in found) == [
        ("ami-a", "standard"),
        ("ami-g", "neuron"),
        ("ami-g", "nvidia"),
        ("ami-x", "standard"),
    ]


def test_where_no_image_is_published_the_alias_and_the_version_are_named(account: Account) -> None:
    publishes(account)

    with pytest.raises(NodeClassNotReadyError) as raised:
        images(account).of(node_class(images=(LATEST,)))

    assert raised.value.selector == "images"
    assert str(raised.value) == (
        "EC2NodeClass/default: its selector of images finds nothing "
        "(alias al2023@latest, for Kubernetes 1.34)"
    )


def test_published_names_are_read_once_a_day_and_images_once_a_minute(account: Account) -> None:
    publishes(
        account,
        x86_64_standard="ami-s",
        x86_64_nvidia="ami-n",
        x86_64_neuron="ami-i",
        arm64_standard="ami-a",
        arm64_nvidia="ami-m",
    )
    for _ in range(2):
        account.answers(DESCRIBE, {"Images": [image("s"), image("n"), image("i"), image("a"), image("m")]})
    known = images(account)
    first = known.of(node_class(images=(LATEST,)))
    account.time.seconds = 30
    second = known.of(node_class(images=(LATEST,)))
    account.time.seconds = 61

    assert first == second == known.of(node_class(images=(LATEST,)))


@pytest.mark.parametrize("later", [[], [image("old", deprecated="2025-12-31")]])
def test_a_published_image_that_is_gone_or_deprecated_is_looked_up_anew(
    account: Account, later: list[dict[str, object]]
) -> None:
    publishes(account, x86_64_standard="ami-old")
    account.answers(DESCRIBE, {"Images": [image("old")]})
    for _ in range(4):
        account.refuses(GET, "ParameterNotFound")
    account.answers(DESCRIBE, {"Images": later})
    publishes(account, x86_64_standard="ami-new")
    account.answers(DESCRIBE, {"Images": [image("new")]})
    known = images(account)
    known.of(node_class(images=(LATEST,)))
    account.time.seconds = 61
    if later:
        known.of(node_class(images=(LATEST,)))
    else:
        with pytest.raises(NodeClassNotReadyError):
            known.of(node_class(images=(LATEST,)))
    account.time.seconds = 122

    assert [one.id for one in known.of(node_class(images=(LATEST,)))] == ["ami-new"]


def test_of_images_for_one_architecture_the_newest_that_is_not_deprecated_is_meant(account: Account) -> None:
    account.answers(
        DESCRIBE,
        {
            "Images": [
                image("1", created="2025-01-01"),
                image("2", created="2025-03-01"),
                image("3", created="2025-04-01", deprecated="2025-12-31"),
                image("4", "arm64", created="2025-04-01", deprecated="2025-12-31"),
                image("5", created="2025-02-01", deprecated="2026-12-31"),
                image("6", "i386"),
            ]
        },
    )

    found = images(account).of(node_class(images=(SelectorTerm(tags=(("team", "*"),)),)))

    assert [(one.id, one.deprecated) for one in found] == [("ami-4", True), ("ami-2", False)]


def test_a_name_means_images_of_amazon_and_our_own_unless_an_owner_is_given(account: Account) -> None:
    terms = (
        SelectorTerm(name="golden-*"),
        SelectorTerm(name="silver", owner="123456789012"),
        SelectorTerm(owner="self"),
        SelectorTerm(tags=(("team", "a"),)),
        SelectorTerm(id="ami-2"),
        SelectorTerm(id="ami-1"),
    )
    for n, (filters, owners) in enumerate(
        (
            ([{"Name": "name", "Values": ["golden-*"]}], ["amazon", "self"]),
            ([{"Name": "name", "Values": ["silver"]}], ["123456789012"]),
            ([], ["self"]),
            ([{"Name": "image-id", "Values": ["ami-1", "ami-2"]}], None),
            ([{"Name": "tag:team", "Values": ["a"]}], None),
        )
    ):
        account.answers(
            DESCRIBE,
            {"Images": [image(str(n), created=f"2025-05-0{n + 1}")]},
            Filters=[*filters, AVAILABLE],
            IncludeDeprecated=True,
            MaxResults=1000,
            **({"Owners": tuple(owners)} if owners else {}),
        )

    found = images(account).of(node_class(family=AmiFamily.CUSTOM, images=terms))

    assert [one.id for one in found] == ["ami-4"]


@pytest.mark.parametrize("value", ["not-an-image", None])
def test_a_parameter_of_the_users_that_holds_no_image_finds_nothing(
    account: Account, value: str | None
) -> None:
    if value is None:
        account.refuses(GET, "ParameterNotFound")
    else:
        account.answers(GET, {"Parameter": {"Value": value}}, Name="/mine")

    with pytest.raises(NodeClassNotReadyError, match="ssmParameter /mine"):
        images(account).of(node_class(images=(SelectorTerm(ssm_parameter="/mine"),)))


def test_a_parameter_of_the_users_is_read_once_in_five_minutes(account: Account) -> None:
    for n in ("1", "2"):
        account.answers(GET, {"Parameter": {"Value": f"ami-{n}"}}, Name="/mine")
        account.answers(
            DESCRIBE,
            {"Images": [image(n)]},
            Filters=[{"Name": "image-id", "Values": [f"ami-{n}"]}, AVAILABLE],
            IncludeDeprecated=True,
            MaxResults=1000,
        )
        if n == "1":
            account.answers(DESCRIBE, {"Images": [image(n)]})
    known = images(account)
    found = [known.of(node_class(images=(SelectorTerm(ssm_parameter="/mine"),)))[0].id]
    for second in (100, 301):
        account.time.seconds = second
        found.append(known.of(node_class(images=(SelectorTerm(ssm_parameter="/mine"),)))[0].id)

    assert found == ["ami-1", "ami-1", "ami-2"]


def test_a_custom_image_without_terms_is_none(account: Account) -> None:
    with pytest.raises(NodeClassNotReadyError, match="it has no terms"):
        images(account).of(node_class(family=AmiFamily.CUSTOM))


@pytest.mark.parametrize(
    ("alias", "kubernetes", "why"),
    [
        ("al2@latest", "1.33", "no AL2 for Kubernetes 1.33, the last is for 1.32"),
        ("windows2025@latest", "1.34", "no Windows2025 for Kubernetes 1.34, the first is for 1.35"),
    ],
)
def test_an_alias_of_images_that_aws_does_not_make_for_the_version_is_refused(
    account: Account, alias: str, kubernetes: str, why: str
) -> None:
    of = node_class(images=(SelectorTerm(alias=alias),))

    with pytest.raises(NodeClassNotReadyError, match=why) as caught:
        Images(account.aws, account.caches, lambda: kubernetes).of(of)

    assert caught.value.reason == "UnsupportedAlias"


@pytest.mark.parametrize(("alias", "kubernetes"), [("al2@latest", "1.32"), ("windows2025@latest", "1.35")])
def test_the_first_and_the_last_version_are_looked_for(account: Account, alias: str, kubernetes: str) -> None:
    for _ in range(3 if alias.startswith("al2") else 1):
        account.refuses(GET, "ParameterNotFound")

    with pytest.raises(NodeClassNotReadyError, match="its selector of images finds nothing"):
        Images(account.aws, account.caches, lambda: kubernetes).of(
            node_class(images=(SelectorTerm(alias=alias),))
        )


TAGGED = {
    "Tags": [
        {"Key": "node.kubernetes.io/instance-type", "Value": "m5.large"},
        {"Key": "kubernetes.io/arch", "Value": "arm64"},
        {"Key": "team", "Value": "web"},
    ]
}


def test_tags_of_an_image_tell_a_class_of_the_old_api_which_types_it_is_for(account: Account) -> None:
    old = replace(REF, kind="AWSNodeTemplate")
    newer = {**image("special", created="2025-06-01"), **TAGGED}
    account.answers(DESCRIBE, {"Images": [image("plain"), newer]})
    of = replace(node_class(images=(SelectorTerm(id="ami-1"),)), ref=old)

    found = images(account).of(of)

    assert [(one.id, one.labels) for one in found] == [
        ("ami-special", (("node.kubernetes.io/instance-type", "m5.large"),)),
        ("ami-plain", ()),
    ]
    assert [one.suits(instance_type("m5.large")) for one in found] == [True, True]
    assert [one.suits(instance_type("c5.large")) for one in found] == [False, True]


def test_they_tell_a_class_of_the_new_api_nothing(account: Account) -> None:
    newer = {**image("special", created="2025-06-01"), **TAGGED}
    account.answers(DESCRIBE, {"Images": [image("plain"), newer]})

    [found] = images(account).of(node_class(images=(SelectorTerm(id="ami-1"),)))

    assert (found.id, found.labels) == ("ami-special", ())
