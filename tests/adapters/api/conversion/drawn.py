"""Objects of v1beta1 and v1 as hypothesis draws them: valid by the rules of their version."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

Tree = dict[str, Any]

names = st.from_regex(r"[a-z][a-z0-9-]{0,8}[a-z0-9]", fullmatch=True)
texts = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=12)
durations = st.from_regex(r"([1-9][0-9]{0,2}[smh]){1,2}", fullmatch=True)
or_never = durations | st.just("Never")
flags = st.booleans()
tags = st.dictionaries(names, names, min_size=1, max_size=2)
maps = st.dictionaries(names, names, max_size=2)
counts = st.integers(0, 100)
reservable = st.dictionaries(st.sampled_from(["cpu", "memory", "pid"]), st.sampled_from(["100m", "1Gi", 5]))


def some(required: dict[str, Any], optional: dict[str, Any]) -> st.SearchStrategy[Tree]:
    return st.fixed_dictionaries(required, optional=optional)


kubelets = some(
    {},
    {
        "maxPods": counts,
        "podsPerCore": counts,
        "systemReserved": reservable,
        "kubeReserved": reservable,
        "clusterDNS": st.just(["10.0.0.10"]),
        "cpuCFSQuota": flags,
        "evictionHard": st.just({"memory.available": "5%"}),
    },
)
taints = st.lists(
    some({"key": names, "effect": st.sampled_from(["NoSchedule", "NoExecute"])}, {"value": names}),
    max_size=2,
    unique_by=lambda t: (t["key"], t["effect"]),
)


@st.composite
def requirements(draw: st.DrawFn, *, v1: bool) -> Tree:
    bounds = ["Gt", "Lt", *(["Gte", "Lte"] if v1 else [])]
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", *bounds]))
    made: Tree = {"key": draw(names), "operator": operator}
    if operator in ("In", "NotIn"):
        made["values"] = draw(st.lists(names, min_size=1, max_size=3))
    elif operator in bounds:
        made["values"] = [str(draw(counts))]
    if draw(flags):
        made["minValues"] = 1
    return made


@st.composite
def budgets(draw: st.DrawFn, *, v1: bool) -> Tree:
    made: Tree = draw(some({}, {"nodes": st.sampled_from(["0", "10%", "5"])}))
    if draw(flags):
        made |= {"schedule": "@daily", "duration": "8h"}
    if v1 and draw(flags):
        made["reasons"] = draw(st.lists(st.sampled_from(["Drifted", "Empty"]), unique=True))
    return made


@st.composite
def metadata(draw: st.DrawFn) -> Tree:
    return draw(
        some(
            {"name": names},
            {"labels": maps, "annotations": tags, "uid": names, "finalizers": st.just(["a/b"])},
        )
    )


references_of_v1beta1 = st.one_of(
    some(
        {"name": names},
        {
            "kind": st.sampled_from(["EC2NodeClass", ""]),
            "apiVersion": st.sampled_from(["karpenter.k8s.aws/v1beta1", "karpenter.k8s.aws", ""]),
        },
    ),
    st.fixed_dictionaries(
        {
            "name": names,
            "kind": st.just("KWOKNodeClass"),
            "apiVersion": st.sampled_from(["karpenter.kwok.sh/v1alpha1", "karpenter.kwok.sh/v1beta1"]),
        }
    ),
)
references_of_v1 = st.one_of(
    st.fixed_dictionaries(
        {"group": st.just("karpenter.k8s.aws"), "kind": st.just("EC2NodeClass"), "name": names}
    ),
    st.fixed_dictionaries(
        {"group": st.just("karpenter.kwok.sh"), "kind": st.just("KWOKNodeClass"), "name": names}
    ),
)


def _template(spec: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return some({"spec": spec}, {"metadata": some({}, {"labels": maps, "annotations": maps})})


def _object(group: str, version: str, kind: str, spec: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return some(
        {
            "apiVersion": st.just(f"{group}/{version}"),
            "kind": st.just(kind),
            "metadata": metadata(),
            "spec": spec,
        },
        {"status": st.just({"conditions": [{"type": "Ready", "status": "True"}]})},
    )


_node = {"taints": taints, "startupTaints": st.just([])}
_pool = {"limits": st.dictionaries(st.sampled_from(["cpu", "memory"]), counts), "weight": st.integers(1, 100)}
_claim = {**_node, "resources": st.just({"requests": {"cpu": "1"}})}

_disruptions_of_v1beta1 = st.one_of(
    some(
        {"consolidationPolicy": st.just("WhenEmpty"), "consolidateAfter": or_never},
        {"expireAfter": or_never, "budgets": st.lists(budgets(v1=False), max_size=3)},
    ),
    some(
        {},
        {
            "consolidationPolicy": st.just("WhenUnderutilized"),
            "consolidateAfter": st.just("Never"),
            "expireAfter": or_never,
            "budgets": st.lists(budgets(v1=False), max_size=3),
        },
    ),
)
_disruptions_of_v1 = some(
    {},
    {
        "consolidationPolicy": st.sampled_from(["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"]),
        "consolidateAfter": or_never,
        "budgets": st.lists(budgets(v1=True), max_size=3),
    },
)

pools_of_v1beta1 = _object(
    "karpenter.sh",
    "v1beta1",
    "NodePool",
    some(
        {
            "template": _template(
                some(
                    {
                        "requirements": st.lists(requirements(v1=False), max_size=3),
                        "nodeClassRef": references_of_v1beta1,
                    },
                    {**_node, "kubelet": kubelets, "resources": st.just({})},
                )
            )
        },
        {**_pool, "disruption": _disruptions_of_v1beta1},
    ),
)
pools_of_v1 = _object(
    "karpenter.sh",
    "v1",
    "NodePool",
    some(
        {
            "template": _template(
                some(
                    {
                        "requirements": st.lists(requirements(v1=True), max_size=3),
                        "nodeClassRef": references_of_v1,
                    },
                    {**_node, "terminationGracePeriod": durations, "expireAfter": or_never},
                )
            )
        },
        {**_pool, "disruption": _disruptions_of_v1},
    ),
)
claims_of_v1beta1 = _object(
    "karpenter.sh",
    "v1beta1",
    "NodeClaim",
    some(
        {
            "requirements": st.lists(requirements(v1=False), max_size=3),
            "nodeClassRef": references_of_v1beta1,
        },
        {**_claim, "kubelet": kubelets},
    ),
)
claims_of_v1 = _object(
    "karpenter.sh",
    "v1",
    "NodeClaim",
    some(
        {"requirements": st.lists(requirements(v1=True), max_size=3), "nodeClassRef": references_of_v1},
        {**_claim, "terminationGracePeriod": durations, "expireAfter": or_never},
    ),
)

_terms = st.just([{"tags": {"a": "b"}}, {"id": "subnet-1"}])
_groups = st.just([{"name": "nodes"}])
_image = st.one_of(
    st.builds(lambda name: {"name": name, "owner": "self"}, names),
    st.just({"id": "ami-1"}),
    st.just({"tags": {"a": "b"}}),
)
_devices = st.lists(
    some(
        {"ebs": some({"volumeSize": st.sampled_from(["20Gi", "1T"])}, {"encrypted": flags})},
        {"deviceName": st.sampled_from(["/dev/sda1", "/dev/xvda"])},
    ),
    max_size=2,
)
_options = some(
    {},
    {
        "httpEndpoint": st.sampled_from(["enabled", "disabled"]),
        "httpPutResponseHopLimit": st.integers(1, 64),
        "httpTokens": st.sampled_from(["required", "optional"]),
    },
)
_class = {
    "userData": texts,
    "context": names,
    "tags": maps,
    "blockDeviceMappings": _devices,
    "metadataOptions": _options,
    "instanceStorePolicy": st.just("RAID0"),
    "detailedMonitoring": flags,
    "associatePublicIPAddress": flags,
}
_selected = {"subnetSelectorTerms": _terms, "securityGroupSelectorTerms": _groups, "role": names}
_families = st.sampled_from(["AL2", "AL2023", "Bottlerocket", "Ubuntu", "Windows2019", "Windows2022"])

classes_of_v1beta1 = _object(
    "karpenter.k8s.aws",
    "v1beta1",
    "EC2NodeClass",
    st.one_of(
        some(
            {**_selected, "amiFamily": _families},
            {**_class, "amiSelectorTerms": st.lists(_image, max_size=2)},
        ),
        some(
            {**_selected, "amiFamily": st.just("Custom"), "amiSelectorTerms": st.lists(_image, min_size=1)},
            _class,
        ),
    ),
)
_only_v1 = {
    "kubelet": kubelets,
    "ipPrefixCount": counts,
    "capacityReservationSelectorTerms": st.just([{"id": "cr-1"}]),
    "placementGroupSelector": st.just({"name": "a"}),
    "networkInterfaces": st.just([{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}]),
    "connectionTracking": st.just({"udpTimeout": 30}),
    "cpuOptions": st.just({"nestedVirtualization": "enabled"}),
}
_aliases = st.sampled_from(
    ["al2@latest", "al2023@v20240807", "bottlerocket@latest", "windows2025@latest", "windows2019@latest"]
)
classes_of_v1 = _object(
    "karpenter.k8s.aws",
    "v1",
    "EC2NodeClass",
    st.one_of(
        some(
            {**_selected, "amiSelectorTerms": _aliases.map(lambda alias: [{"alias": alias}])},
            {**_class, **_only_v1, "amiFamily": st.just("Custom")},
        ),
        some(
            {
                **_selected,
                "amiFamily": st.sampled_from(["AL2", "AL2023", "Custom", "Windows2025"]),
                "amiSelectorTerms": st.lists(
                    _image | st.just({"ssmParameter": "/a/b"}), min_size=1, max_size=3
                ),
            },
            {**_class, **_only_v1},
        ),
    ),
)

of_v1beta1 = st.one_of(pools_of_v1beta1, claims_of_v1beta1, classes_of_v1beta1)
of_v1 = st.one_of(pools_of_v1, claims_of_v1, classes_of_v1)
