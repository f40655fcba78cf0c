"""Which node classes are taken and which are refused, and which field that is said of."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Suite
from tests.conformance.objects import alias, ec2
from tests.conformance.steps.objects_told import rejected, taken
from tests.scenarios.manifests import Manifest

SUITE: Final = Suite("aws/apis/v1/ec2nodeclass_validation_cel_test.go")
TAGS: Final = {"test": "testvalue"}
ACCOUNT: Final = "012345678901"
FAMILIES: Final = ("AL2", "AL2023", "Bottlerocket", "Windows2019", "Windows2022", "Windows2025")
RESTRICTED: Final = (
    "karpenter.sh/nodepool",
    "kubernetes.io/cluster/test",
    "eks:eks-cluster-name",
    "karpenter.k8s.aws/ec2nodeclass",
    "karpenter.sh/nodeclaim",
)


def having(**spec: Any) -> Manifest:
    """Return a node class in which these fields are so, and which lacks those of None."""
    made = ec2(**spec)
    made["spec"] = {field: value for field, value in made["spec"].items() if value is not None}
    return made


def takes(line: int, what: str, *specs: dict[str, Any]) -> Case:
    """Return a case in which a class is taken, whichever of these specs it has."""
    return SUITE.case(line, f"taken: {what}", *(taken(having(**spec)) for spec in specs))


def refuses(line: int, what: str, *specs: dict[str, Any], at: str | None = None, differs: str = "") -> Case:
    """Return a case in which a class is refused, whichever of these specs it has.

    It is said of `at`, or of the first field that is given.
    """
    steps = (rejected(having(**spec), f"spec.{next(iter(spec))}" if at is None else at) for spec in specs)
    return SUITE.case(line, f"refused: {what}", *steps, differs=differs)


PROFILE: Final = {"instanceProfile": "profile", "role": None}
BASICS: Final = (
    takes(67, "a role", {"role": "role-1"}),
    takes(70, "an instance profile", PROFILE),
    refuses(
        75, "both role and instance profile", {"role": "role-1", "instanceProfile": "profile"}, at="spec"
    ),
    refuses(79, "neither role nor instance profile", {"role": None}, at="spec"),
    refuses(1324, "an empty role", {"role": ""}, at="spec"),
    takes(1328, "another role than before", {"role": "role-1"}, {"role": "role-2"}),
    takes(1335, "a role, before it a profile", PROFILE, {"role": "role-1"}),
    takes(1344, "a profile, before it a role", {"role": "role-1"}, PROFILE),
    takes(84, "no user data", {}),
    takes(178, "no tags", {"tags": {}}),
    takes(
        182,
        "tags of one's own",
        {
            "tags": {
                "karpenter.sh/custom-key": "value",
                "karpenter.sh/managed": "true",
                "kubernetes.io/role/key": "value",
            }
        },
    ),
    refuses(190, "tags that are not the user's", *({"tags": {key: "value"}} for key in RESTRICTED)),
)

LAST_WRONG: Final = [*({"tags": {f"test{number}": "value"}} for number in range(3)), {"tags": {"": "value"}}]
WRONG: Final[tuple[tuple[str, object], ...]] = (
    ("a term of nothing", [{}]),
    ("a term of no tags", [{"tags": {}}]),
    ("a tag of no value", [{"tags": {"test": ""}}]),
    ("a tag of no key", [{"tags": {"": "value"}}]),
    ("a tag of no key in the last term", LAST_WRONG),
)
SELECTED: Final = tuple(
    case
    for what, field, found, lines in (
        ("subnets", "subnetSelectorTerms", "subnet-12345749", (214, 224, 240, 246, 254, 264, 274)),
        ("groups", "securityGroupSelectorTerms", "sg-12345749", (312, 322, 346, 352, 360, 370, 380)),
        (
            "reservations",
            "capacityReservationSelectorTerms",
            "cr-12345749",
            (438, 446, 471, 475, 481, 489, 497),
        ),
        ("images", "amiSelectorTerms", "ami-12345749", (605, 615, 651, 657, 665, 675, 685)),
    )
    for case in (
        takes(lines[0], f"{what} by tag", {field: [{"tags": TAGS}], "amiFamily": "AL2023"}),
        takes(lines[1], f"{what} by id", {field: [{"id": found}], "amiFamily": "AL2023"}),
        *(
            refuses(line, f"{what}: {text}", {field: value, "amiFamily": "AL2023"})
            for line, (text, value) in zip(lines[2:], WRONG, strict=True)
        ),
    )
)


def subnets(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"subnetSelectorTerms": list(terms)}


def groups(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"securityGroupSelectorTerms": list(terms)}


def held(**term: Any) -> dict[str, Any]:
    return {"capacityReservationSelectorTerms": [term]}


NETWORKS: Final = (
    refuses(232, "subnets are not said", {"subnetSelectorTerms": None}),
    refuses(236, "no term for subnets", subnets()),
    refuses(299, "subnets by id and tags", subnets({"id": "subnet-12345749", "tags": TAGS})),
    takes(330, "groups by name", groups({"name": "testname"})),
    refuses(338, "groups are not said", {"securityGroupSelectorTerms": None}),
    refuses(342, "no term for groups", groups()),
    refuses(405, "groups by id and tags", groups({"id": "sg-12345749", "tags": TAGS})),
    refuses(416, "groups by id and name", groups({"id": "sg-12345749", "name": "mine"})),
    refuses(425, "groups by name and tags", groups({"name": "mine", "tags": TAGS})),
)

RESERVATIONS: Final = (
    takes(452, "reservations by owner and tags", held(ownerID=ACCOUNT, tags=TAGS)),
    refuses(461, "a reservation's id that is none", held(id="r-12345749")),
    takes(467, "reservations are not said", {"capacityReservationSelectorTerms": None}),
    refuses(522, "reservations by id and tags", held(id="cr-12345749", tags=TAGS)),
    refuses(531, "reservations by id and owner", held(id="cr-12345749", ownerID=ACCOUNT)),
    refuses(538, "reservations of an owner of eleven digits", held(ownerID=ACCOUNT[1:], tags=TAGS)),
    refuses(547, "reservations by nothing but owner", held(ownerID=ACCOUNT)),
    takes(553, "open reservations", held(instanceMatchCriteria="open")),
    takes(559, "targeted reservations", held(instanceMatchCriteria="targeted")),
    takes(565, "open reservations by tags", held(instanceMatchCriteria="open", tags=TAGS)),
    takes(
        574,
        "targeted reservations by owner and tags",
        held(instanceMatchCriteria="targeted", ownerID=ACCOUNT, tags=TAGS),
    ),
    refuses(584, "reservations of criteria that are none", held(instanceMatchCriteria="invalid")),
    refuses(590, "reservations by id and criteria", held(id="cr-12345749", instanceMatchCriteria="open")),
)


def images(*terms: dict[str, Any], family: str | None = "AL2023") -> dict[str, Any]:
    return {"amiSelectorTerms": list(terms), "amiFamily": family}


def latest(family: str) -> dict[str, str]:
    return {"alias": f"{family.lower()}@latest"}


ID: Final = {"id": "ami-1234749"}
OTHERS: Final = (("tags", TAGS), ("name", "my-custom-ami"), ("owner", "123456789"))

IMAGES: Final = (
    *(takes(98, f"images by id, of {family}", images(ID, family=family)) for family in (*FAMILIES, "Custom")),
    refuses(102, "images of Ubuntu", images(ID, family="Ubuntu"), at="spec.amiFamily"),
    *(takes(119, f"{family} and its alias", images(latest(family), family=family)) for family in FAMILIES),
    *(takes(138, f"Custom and the alias of {of}", images(latest(of), family="Custom")) for of in FAMILIES),
    *(
        refuses(
            161, f"{family} and the alias of {of}", images(latest(of), family=family), at="spec.amiFamily"
        )
        for family in FAMILIES
        for of in FAMILIES
        if of != family
    ),
    refuses(171, "neither family nor alias", images(ID, family=None), at="spec.amiFamily"),
    takes(599, "images by alias", images(latest("AL2023"))),
    takes(623, "images by name", images({"name": "testname"})),
    takes(631, "images by name and owner", images({"name": "testname", "owner": "testowner"})),
    takes(640, "images by owner and tags", images({"owner": "testowner", "tags": TAGS})),
    *(
        refuses(line, f"images by id and {field}", images({**ID, field: value}))
        for line, (field, value) in zip(
            (718, 719, 722, 723), (("alias", "al2023@latest"), *OTHERS), strict=True
        )
    ),
    *(
        refuses(line, f"images by alias and {field}", images({"alias": "al2023@latest", field: value}))
        for line, (field, value) in zip((733, 734, 737, 738), (("id", "ami-1234749"), *OTHERS), strict=True)
    ),
    refuses(740, "an alias beside another term", images(latest("AL2023"), ID)),
    *(
        takes(line, f"the alias {name}", {"amiSelectorTerms": alias(name), "amiFamily": family})
        for line, name, family in (
            (754, "al2@latest", "AL2"),
            (755, "al2@v20240625", "AL2"),
            (756, "al2023@latest", "AL2023"),
            (757, "al2023@v20240625", "AL2023"),
            (758, "bottlerocket@latest", "Bottlerocket"),
            (759, "bottlerocket@1.10.0", "Bottlerocket"),
            (760, "windows2019@latest", "Windows2019"),
            (761, "windows2022@latest", "Windows2022"),
            (762, "windows2025@latest", "Windows2025"),
        )
    ),
    *(
        refuses(line, f"an alias {what}", *({"amiSelectorTerms": alias(name)} for name in names))
        for line, what, *names in (
            (772, "without family", "@latest"),
            (773, "without version", "al2023", "al2023@"),
            (774, "with a hyphen", "al2023-latest"),
            (776, "of Ubuntu", "ubuntu@latest"),
            (786, "of a version of Windows 2019", "windows2019@v1.0.0"),
            (787, "of a version of Windows 2022", "windows2022@v1.0.0"),
            (788, "of a version of Windows 2025", "windows2025@v1.0.0"),
        )
    ),
)


def disk(*, root: bool = False, **ebs: Any) -> dict[str, Any]:
    return {"deviceName": "map-device-1", "ebs": ebs, "rootVolume": root}


def disks(*mappings: dict[str, Any]) -> dict[str, Any]:
    return {"blockDeviceMappings": list(mappings)}


MACHINES: Final = (
    takes(
        796,
        "what the kubelet is told",
        {
            "kubelet": {
                "maxPods": 110,
                "podsPerCore": 10,
                "kubeReserved": {"cpu": "200m", "memory": "100Mi"},
                "systemReserved": {"cpu": "200m", "memory": "100Mi"},
                "evictionHard": {"memory.available": "5%"},
            }
        },
    ),
    takes(
        852,
        "what the metadata service is told",
        {
            "metadataOptions": {
                "httpEndpoint": "disabled",
                "httpProtocolIPv6": "enabled",
                "httpPutResponseHopLimit": 34,
                "httpTokens": "optional",
            }
        },
    ),
    *(
        refuses(line, f"{field} of {value}", {"metadataOptions": {field: value}})
        for line, field, value in (
            (861, "httpEndpoint", "test"),
            (867, "httpProtocolIPv6", "test"),
            (873, "httpPutResponseHopLimit", -5),
            (879, "httpTokens", "test"),
        )
    ),
    takes(
        887, "a root volume and another", disks(disk(volumeSize="500G", root=True), disk(volumeSize="50T"))
    ),
    takes(917, "a volume in G", disks(disk(volumeSize="58G"))),
    takes(938, "a volume in T", disks(disk(volumeSize="45T"))),
    refuses(
        959, "two root volumes", disks(disk(volumeSize="50G", root=True), disk(volumeSize="50G", root=True))
    ),
    *(
        refuses(line, f"a volume {what}", disks(disk(**ebs)))
        for line, what, ebs in (
            (987, "of nearly nothing", {"volumeSize": "1m"}),
            (1008, "of more than 64T", {"volumeSize": "100T"}),
            (1029, "of nothing", {"volumeSize": "0"}),
            (1050, "with a rate and no snapshot", {"volumeSize": "1Gi", "volumeInitializationRate": 100}),
            (
                1072,
                "with a low rate",
                {"volumeSize": "1Gi", "snapshotID": "snap-1", "volumeInitializationRate": 99},
            ),
            (
                1095,
                "with a high rate",
                {"volumeSize": "1Gi", "snapshotID": "snap-1", "volumeInitializationRate": 888},
            ),
        )
    ),
    takes(1356, "nested virtualization", {"cpuOptions": {"nestedVirtualization": "enabled"}}),
    takes(1362, "no nested virtualization", {"cpuOptions": {"nestedVirtualization": "disabled"}}),
    refuses(
        1368, "a nested virtualization that is none", {"cpuOptions": {"nestedVirtualization": "invalid"}}
    ),
    takes(1374, "no CPU options", {"cpuOptions": {}}),
)

MAIN: Final = (0, 0, "interface")


def cards(*those: tuple[int, int, str]) -> dict[str, Any]:
    return {
        "networkInterfaces": [
            {"networkCardIndex": network, "deviceIndex": device, "interfaceType": kind}
            for network, device, kind in those
        ]
    }


def tracked(**timeouts: int) -> dict[str, Any]:
    return {"connectionTracking": timeouts}


INTERFACES: Final = (
    takes(1120, "four cards", cards(MAIN, (0, 1, "efa-only"), (1, 0, "efa-only"), (1, 1, "interface"))),
    takes(1145, "no cards", cards()),
    *(
        refuses(line, what, cards(*those))
        for line, what, those in (
            (1149, "a kind of card that is none", [(0, 0, "efa")]),
            (1159, "a negative card", [MAIN, (-1, 0, "interface")]),
            (1174, "a negative device", [(-1, 0, "interface"), (0, -1, "interface")]),
            (
                1189,
                "two of a card and device",
                [MAIN, (0, 1, "efa-only"), (1, 0, "interface"), (1, 0, "efa-only")],
            ),
            (1214, "no first card", [(0, 1, "interface")]),
            (1224, "a first card of EFA", [(0, 0, "efa-only")]),
            (1234, "two of EFA on a card", [MAIN, (1, 0, "efa-only"), (1, 1, "efa-only")]),
        )
    ),
    refuses(1256, "connection tracking of nothing", tracked()),
    *(
        takes(line, f"connections tracked by {what}", tracked(**timeouts))
        for line, what, timeouts in (
            (1260, "TCP", {"tcpEstablishedTimeout": 60}),
            (1266, "UDP streams", {"udpStreamTimeout": 120}),
            (1272, "UDP", {"udpTimeout": 45}),
            (
                1278,
                "all three",
                {"tcpEstablishedTimeout": 432000, "udpStreamTimeout": 180, "udpTimeout": 60},
            ),
        )
    ),
    *(
        refuses(line, f"{field} of {seconds}", tracked(**{field: seconds}))
        for line, field, seconds in (
            (1286, "tcpEstablishedTimeout", 59),
            (1292, "tcpEstablishedTimeout", 432001),
            (1298, "udpStreamTimeout", 59),
            (1304, "udpStreamTimeout", 181),
            (1310, "udpTimeout", 29),
            (1316, "udpTimeout", 61),
        )
    ),
)

CASES: Final[tuple[Case, ...]] = (
    *BASICS,
    *SELECTED,
    *NETWORKS,
    *RESERVATIONS,
    *IMAGES,
    *MACHINES,
    *INTERFACES,
)
