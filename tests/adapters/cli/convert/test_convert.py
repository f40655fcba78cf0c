from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
import yaml

from tests.adapters.cli.command import treenail
from tests.adapters.cli.convert.cases import (
    ANOTHER_KIND,
    BY_IDS,
    EVERY_FIELD,
    FROM_KUBECTL,
    PROVIDER_WITHIN,
    TEMPLATES,
    WITHOUT_REQUIREMENTS,
    by_images,
    template,
)
from tests.adapters.cli.convert.converting import BETA, convert, made
from treenail.adapters.api.conversion import KUBELET


def test_a_provisioner_becomes_a_pool_of_v1beta1_field_by_field(file: Path) -> None:
    (pool,) = made(file, EVERY_FIELD, "v1beta1")
    spec = pool["spec"]
    own = yaml.safe_load(EVERY_FIELD)["spec"]

    kubelet = own["kubeletConfiguration"]
    del kubelet["containerRuntime"]
    assert pool["metadata"] == {"name": "default"}
    assert spec["template"]["metadata"] == {"labels": own["labels"], "annotations": own["annotations"]}
    assert spec["template"]["spec"] == {
        "nodeClassRef": {
            "apiVersion": "karpenter.k8s.aws/v1beta1",
            "kind": "EC2NodeClass",
            "name": "default",
        },
        "requirements": [
            *own["requirements"],
            {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
        ],
        "taints": own["taints"],
        "startupTaints": own["startupTaints"],
        "kubelet": kubelet,
    }
    assert spec["disruption"] == {
        "consolidationPolicy": "WhenEmpty",
        "consolidateAfter": "30s",
        "expireAfter": "720h",
        "budgets": [{"nodes": "100%"}],
    }
    assert (spec["limits"], spec["weight"]) == (own["limits"]["resources"], 10)


def test_what_provisioners_mean_without_saying_it_is_said(file: Path) -> None:
    (pool,) = made(file, WITHOUT_REQUIREMENTS)

    assert [tuple(r.values()) for r in pool["spec"]["template"]["spec"]["requirements"]] == [
        ("kubernetes.io/os", "In", ["linux"]),
        ("kubernetes.io/arch", "In", ["amd64"]),
        ("karpenter.sh/capacity-type", "In", ["on-demand"]),
        ("karpenter.k8s.aws/instance-category", "In", ["c", "m", "r"]),
        ("karpenter.k8s.aws/instance-generation", "Gt", ["2"]),
    ]


def test_a_provisioner_that_gives_nothing_back_becomes_a_pool_that_does_not_either(file: Path) -> None:
    (pool,) = made(file, FROM_KUBECTL)

    assert pool["spec"]["disruption"]["consolidateAfter"] == "Never"
    assert pool["spec"]["template"]["spec"]["expireAfter"] == "Never"


def test_what_only_the_server_writes_is_left_out(file: Path) -> None:
    pool, node_class = made(file, f"{FROM_KUBECTL}---{TEMPLATES['from kubectl']}")

    for one in (pool, node_class):
        assert one.keys() == {"apiVersion", "kind", "metadata", "spec"}
        assert one["metadata"] == {"name": "default"}


def test_hashes_are_left_out(file: Path) -> None:
    hashes = {f"{key}{end}": "1" for key in HASHES for end in ("", "-version")}
    annotated = yaml.safe_load(PROVIDER_WITHIN)
    annotated["metadata"]["annotations"] = {**hashes, "mine": "2"}

    pool, _ = made(file, yaml.safe_dump(annotated))

    assert pool["metadata"]["annotations"] == {"mine": "2"}


def test_a_provider_within_becomes_a_class_of_its_own_with_the_profile_it_names(file: Path) -> None:
    pool, node_class = made(file, PROVIDER_WITHIN)

    ref = pool["spec"]["template"]["spec"]["nodeClassRef"]
    own = yaml.safe_load(PROVIDER_WITHIN)["spec"]["provider"]
    assert ref == {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    assert node_class["metadata"] == {"name": "default"}
    assert node_class["spec"]["instanceProfile"] == "KarpenterNodeInstanceProfile-demo"
    for name in ("context", "tags", "metadataOptions", "blockDeviceMappings"):
        assert node_class["spec"][name] == own[name]


def test_a_role_that_is_not_known_is_left_for_the_user_with_a_warning(file: Path) -> None:
    ran = convert(file, template())

    assert "\n  role: $KARPENTER_NODE_ROLE\n" in ran.out
    assert ran.err == (
        f"treenail: warning: {file}: EC2NodeClass default: "
        "spec.role: put the role of the nodes in the place of $KARPENTER_NODE_ROLE\n"
    )


def test_selectors_become_one_term_for_each_combination_of_what_they_list(file: Path) -> None:
    (node_class,) = made(
        file, by_images("aws::owners: 'self,amazon', aws::name: a, key-1: 'v1,v2,v3', key-2: 'v4,v5'")
    )
    (by_subnets,) = made(file, TEMPLATES["lists of tags of subnets"])

    terms = node_class["spec"]["amiSelectorTerms"]
    assert len(terms) == 12
    assert {"owner": "amazon", "name": "a", "tags": {"key-1": "v3", "key-2": "v4"}} in terms
    assert len(by_subnets["spec"]["subnetSelectorTerms"]) == 6
    assert {"tags": {"discovery-1": "demo-2", "discovery-2": "demo-5"}} in by_subnets["spec"][
        "subnetSelectorTerms"
    ]


def test_nothing_stands_beside_the_id_of_an_image_and_that_is_said(file: Path) -> None:
    ran = convert(file, TEMPLATES[BY_IDS])
    (node_class,) = yaml.safe_load_all(ran.out)

    assert node_class["spec"]["amiSelectorTerms"] == [{"id": "ami-123"}, {"id": "ami-456"}]
    assert "spec.amiSelectorTerms: only the ids are kept" in ran.err


def test_the_kubelets_settings_go_into_the_class_where_its_pools_agree() -> None:
    ran = treenail("convert", "-f", BETA)
    pool, node_class = yaml.safe_load_all(ran.out)

    assert "annotations" not in pool["metadata"]
    assert node_class["spec"]["kubelet"] == {
        "systemReserved": {"cpu": "100m", "memory": "100Mi", "ephemeral-storage": "1Gi"},
        "maxPods": 20,
    }


def test_the_kubelets_settings_stay_with_pools_that_differ_and_that_is_said(file: Path) -> None:
    beta = Path(BETA).read_text()
    other = beta.split("---")[0].replace("{name: default}\nspec", "{name: other}\nspec")

    ran = convert(file, f"{beta}---\n{other.replace('maxPods: 20', 'maxPods: 30')}")
    pool, node_class, another = yaml.safe_load_all(ran.out)

    assert "kubelet" not in node_class["spec"]
    assert json.loads(pool["metadata"]["annotations"][KUBELET])["maxPods"] == 20
    assert json.loads(another["metadata"]["annotations"][KUBELET])["maxPods"] == 30
    assert ran.err.count("spec.template.spec.kubelet: stays with the pool") == 2


def test_what_v1beta1_cannot_say_is_kept_and_named(file: Path) -> None:
    before = treenail("convert", "-f", BETA).out

    ran = convert(file, before, "--to", "v1beta1")
    after = convert(file, ran.out).out

    assert "EC2NodeClass default: spec.kubelet: v1beta1 cannot say it" in ran.err
    assert yaml.safe_load_all(after) is not None
    assert list(yaml.safe_load_all(after)) == list(yaml.safe_load_all(before))


def test_what_selects_nodes_by_the_old_label_is_named_and_stays(file: Path) -> None:
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {nodeSelector: {karpenter.sh/provisioner-name: default}, containers: []}
"""

    ran = convert(file, f"{pod}---{WITHOUT_REQUIREMENTS}")

    assert ran.out.startswith(pod)
    assert ran.err == (
        f"treenail: warning: {file}: Pod web: names karpenter.sh/provisioner-name, "
        "in whose place new nodes have karpenter.sh/nodepool\n"
    )
    assert convert(file, pod).err == ""


def test_a_list_is_taken_apart(file: Path) -> None:
    items = [yaml.safe_load(one) for one in (WITHOUT_REQUIREMENTS, template(), ANOTHER_KIND)]
    whole = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})

    assert [one["kind"] for one in made(file, whole)] == ["NodePool", "EC2NodeClass", "Test"]


def test_json_is_one_object_or_a_list(file: Path) -> None:
    one = json.loads(convert(file, template(), "-o", "json").out)
    two = json.loads(convert(file, PROVIDER_WITHIN, "-o", "json").out)

    assert one["kind"] == "EC2NodeClass"
    assert (two["kind"], [item["kind"] for item in two["items"]]) == ("List", ["NodePool", "EC2NodeClass"])


def test_a_diff_shows_what_would_change_and_nothing_where_nothing_would(file: Path) -> None:
    lines = treenail("convert", "-f", BETA, "--diff").out.splitlines()
    file.write_text(treenail("convert", "-f", BETA).out)

    assert lines[:2] == [f"--- {BETA}", f"+++ {BETA} (v1)"]
    assert "-apiVersion: karpenter.sh/v1beta1" in lines
    assert "+apiVersion: karpenter.sh/v1" in lines
    assert treenail("convert", "-f", str(file), "--diff").out == ""


def test_standard_input_is_a_file_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(template().encode())))

    assert "kind: EC2NodeClass" in treenail("convert", "-f", "-").out


LAUNCH_TEMPLATE = """
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: {name: own}
spec: {subnetSelector: {a: b}, launchTemplate: mine}
"""
HASHES = (
    "karpenter.sh/provisioner-hash",
    "karpenter.sh/nodepool-hash",
    "karpenter.k8s.aws/ec2nodeclass-hash",
    "karpenter.k8s.aws/nodetemplate-hash",
)
MANY = ",".join(f"v{n}" for n in range(31))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (LAUNCH_TEMPLATE, "AWSNodeTemplate own: spec.launchTemplate: has no place in an EC2NodeClass"),
        (
            EVERY_FIELD.replace("containerRuntime: containerd", "containerRuntime: dockerd"),
            'Provisioner default: spec.kubeletConfiguration.containerRuntime: "dockerd" has no place',
        ),
        (f"{PROVIDER_WITHIN}---{template()}", "AWSNodeTemplate default: metadata.name: another EC2NodeClass"),
        (
            template(subnets=f"a: '{MANY}'"),
            "EC2NodeClass default: spec.subnetSelectorTerms: ",
        ),
        (WITHOUT_REQUIREMENTS.replace("weight: 10", "weight: 1000"), "Provisioner default: spec.weight: "),
        (WITHOUT_REQUIREMENTS.replace("weight", "wait"), "Provisioner default: spec.wait: "),
        ("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: [a]", "NodePool (number 1): metadata: "),
        (
            "apiVersion: karpenter.sh/v2\nkind: NodePool\nmetadata: {name: a}",
            'NodePool a: apiVersion: "karpenter.sh/v2" is not known for NodePool',
        ),
        (
            'apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: "a\\0"}\nspec: {}',
            "NodePool a\\x00: spec.template: is missing",
        ),
        (f"%YAML 1.1\n---{template()}", "begins with a directive (%)"),
        ("a: [", "line 2: is not YAML"),
    ],
)
def test_what_cannot_be_converted_is_refused_by_file_object_and_field(
    file: Path, text: str, problem: str
) -> None:
    ran = convert(file, text)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"treenail: {file}: {problem}")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [(), ("--from-cluster", "-f", BETA)])
def test_it_must_be_said_what_to_convert(arguments: tuple[str, ...]) -> None:
    ran = treenail("convert", *arguments)

    assert (ran.code, ran.out) == (2, "")
    assert "-f FILE or --from-cluster" in ran.err


def test_a_cluster_that_cannot_be_reached_is_bad_input(tmp_path: Path) -> None:
    ran = treenail("convert", "--from-cluster", "--kubeconfig", str(tmp_path / "none"))

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("treenail: --from-cluster: ")
