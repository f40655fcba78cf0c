from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.scenarios.manifests import Manifest, deployment, node_pool, text
from treenail.adapters.api.auto_mode import as_karpenter
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.api.kinds import foreign
from treenail.adapters.api.manifests import decode_all, parse_manifests, read_manifests
from treenail.domain.model.node_pools import NodePool

POD = "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: c, image: x}]}}"
AUTO = """
apiVersion: eks.amazonaws.com/v1
kind: NodeClass
metadata: {name: default}
spec:
  role: node
  subnetSelectorTerms: [{tags: {Name: a}}]
  securityGroupSelectorTerms: [{tags: {Name: a}}]
  networkPolicy: DefaultAllow
  ephemeralStorage: {size: 200Gi, iops: 4000}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec:
  template:
    spec:
      nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}
      requirements: [{key: eks.amazonaws.com/instance-category, operator: In, values: [c, m]}]
"""


def warnings(text: str) -> tuple[str, ...]:
    return decode_all(parse_manifests(text.encode(), "x.yaml"), node_classes_optional=True).warnings


def complaint(text: str) -> str:
    with pytest.raises(ManifestError) as raised:
        parse_manifests(text.encode(), "x.yaml")
    return str(raised.value)


def test_kinds_of_other_groups_are_skipped_with_one_warning() -> None:
    others = "\n---\n".join(
        f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: n{n}}}}}"
        for n, (version, kind) in enumerate(
            [
                ("monitoring.coreos.com/v1", "ServiceMonitor"),
                ("argoproj.io/v1alpha1", "Rollout"),
                ("monitoring.coreos.com/v1", "ServiceMonitor"),
            ]
        )
    )

    what = "kinds that are not known here are skipped, with what they would make"
    assert warnings(f"{POD % 'p'}\n---\n{others}") == (f"x.yaml: {what}: Rollout (1), ServiceMonitor (2)",)


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        ("v1", "Pdo"),
        ("apps/v1", "Deploymnt"),
        ("karpenter.sh/v1", "NodePol"),
        ("karpenter.k8s.aws/v1", "EC2Nodeclass"),
        ("karpenter.shh.io/v1", "NodePool"),
        ("storage.k8s.io/v1", "Klass"),
        ("a.example.com/v1", ""),
        ("", "Widget"),
    ],
)
def test_what_may_be_a_mistake_is_not_skipped(version: str, kind: str) -> None:
    assert not foreign(version, kind)


def test_each_wrong_object_is_named_not_only_the_first() -> None:
    text = "\n---\n".join(
        (
            "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
            POD % "b",
            "{apiVersion: v1, kind: Pdo, metadata: {name: c}}",
        )
    )

    with pytest.raises(ManifestError) as raised:
        decode_all(parse_manifests(text.encode(), "x.yaml"))

    found = [raised.value, *raised.value.others]
    assert [(e.object, e.field) for e in found] == [("Pod a", "spec"), ("Pdo c", "kind")]


def test_each_wrong_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [")
    (tmp_path / "b.yml").write_text("")
    (tmp_path / "c.json").write_text(POD % "c")

    with pytest.raises(ManifestError) as raised:
        read_manifests([tmp_path / "a.yaml", tmp_path / "b.yml", tmp_path / "c.json"])

    assert [Path(e.file).name for e in (raised.value, *raised.value.others)] == ["a.yaml", "b.yml"]


def test_a_folder_stands_for_its_manifests_by_name(tmp_path: Path) -> None:
    for name in ("b.yaml", "a.json", "c.yml"):
        (tmp_path / name).write_text(POD % name[0])
    (tmp_path / "README.md").write_text("# no manifest")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "d.yaml").write_text(POD % "d")

    assert [m.name for m in read_manifests([tmp_path])] == ["a", "b", "c"]


def test_a_folder_without_manifests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"is a folder without a file \.yaml or \.yml or \.json"):
        read_manifests([tmp_path])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: b\nname: {{ .Release.Name }}-web\n", "line 2: {{ .Release.Name }} is a template: give what"),
        ("a: b\nb: {c: {{ .Values.x }}, d: 1}\n", "line 2: {{ .Values.x }} is a template: give what"),
        ('a: [{{ include "x" . }}]\n', 'line 1: {{ include "x" . }} is a template'),
        ("a: b\n{{- if .Values.on }}\nc: d\n{{- end }}\n", "line 2: {{- if .Values.on }} is a template"),
        ("- {{ toYaml .Values.x\n  | nindent 2 }}: x", "line 1: {{ toYaml .Values.x is a template"),
        ("a:\n\tb: c\n", "line 2: is indented by a tab: YAML takes spaces alone"),
        ('{"a": 1\n "b": 2}', "line 2, column 2: is not JSON: Expecting ',' delimiter"),
        ("a: b: c\nd: '{{ not.ours }}'\n", "line 1: is not YAML: mapping values are not allowed"),
    ],
)
def test_templates_tabs_and_broken_json_get_words_of_their_own(text: str, expected: str) -> None:
    assert complaint(text).startswith(f"x.yaml: {expected}")


@pytest.mark.parametrize("as_json", [False, True])
def test_memory_in_thousandths_of_a_byte_is_warned_of(as_json: bool) -> None:  # noqa: FBT001
    text = (
        '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": '
        '[{"name": "c", "image": "x", "resources": {"requests": {"cpu": "100m", "memory": "2048m"}}}]}}'
    )

    where = "spec.containers[0].resources.requests.memory"
    assert warnings(text if as_json else f"# YAML\n{text}") == (
        f"x.yaml: Pod p: {where}: '2048m' is in thousandths of a byte; did you mean 2048Mi?",
    )


def test_a_namespace_of_what_has_none_is_warned_of() -> None:
    text = "{apiVersion: v1, kind: Namespace, metadata: {name: n, namespace: x}}"

    assert warnings(text) == (
        "x.yaml: Namespace n: metadata.namespace: is left out: a Namespace is of the whole cluster",
    )


def test_auto_mode_is_read_as_karpenter_would_have_it() -> None:
    found, said = as_karpenter(parse_manifests(AUTO.encode(), "auto.yaml"))
    decoded = decode_all(found)

    assert said == (
        "auto.yaml: NodeClass default: is read as an EC2NodeClass with Bottlerocket, less networkPolicy",
    )
    [pool] = decoded.node_pools
    assert isinstance(pool, NodePool)
    assert "karpenter.k8s.aws/instance-category" in set(pool.requirements)
    assert dict(pool.labels)["eks.amazonaws.com/compute-type"] == "auto"
    [node_class] = decoded.node_classes
    [mapping] = node_class.block_devices
    assert (node_class.role, mapping.device_name, mapping.iops) == ("node", "/dev/xvdb", 4000)
    assert mapping.volume_size == 200 * 2**30


def test_a_class_of_auto_mode_that_names_no_role_has_that_of_eks() -> None:
    found, _ = as_karpenter(parse_manifests(AUTO.replace("role: node", "").encode(), "auto.yaml"))

    [node_class] = decode_all(found).node_classes
    assert node_class.role == "AmazonEKSAutoNodeRole"


def test_manifests_without_auto_mode_stay_as_they_are() -> None:
    manifests = parse_manifests((POD % "p").encode(), "x.yaml")

    assert as_karpenter(manifests) == (manifests, ())


@pytest.mark.parametrize("kind", ["ResourceQuota", "LimitRange"])
def test_quotas_and_limit_ranges_are_read(kind: str) -> None:
    assert warnings(f"{{apiVersion: v1, kind: {kind}, metadata: {{name: q}}, spec: {{}}}}") == ()


@pytest.mark.parametrize(
    ("kind", "spec", "problem"),
    [
        ("ResourceQuota", "hard: {pods: -1}", 'spec.hard.pods: "-1" must not be negative'),
        ("ResourceQuota", "hard: {requests.cpu: much}", 'spec.hard[requests.cpu]: "much" is not a quantity'),
        ("ResourceQuota", "scopes: [Rare]", "spec.scopes[0]"),
        (
            "ResourceQuota",
            "scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In}]}",
            "spec.scopeSelector.matchExpressions[0].values: must be given for the operator In",
        ),
        (
            "ResourceQuota",
            "scopeSelector: {matchExpressions: [{scopeName: BestEffort, operator: DoesNotExist}]}",
            "operator: must be Exists for the scope BestEffort",
        ),
        ("LimitRange", "limits: [{type: Node}]", "spec.limits[0].type"),
        (
            "LimitRange",
            "limits: [{type: Container, min: {cpu: 2}, max: {cpu: 1}}]",
            "spec.limits[0].min.cpu: is more than defaultRequest",
        ),
        (
            "LimitRange",
            "limits: [{type: Pod, default: {cpu: 1}}]",
            "spec.limits[0].default: may not be given",
        ),
    ],
)
def test_bad_quotas_and_limit_ranges_are_refused(kind: str, spec: str, problem: str) -> None:
    text = f"{{apiVersion: v1, kind: {kind}, metadata: {{name: q}}, spec: {{{spec}}}}}"

    with pytest.raises(ManifestError, match=re.escape(problem)):
        decode_all(parse_manifests(text.encode(), "x.yaml"))


def test_a_kustomization_says_what_to_give_in_its_place() -> None:
    text = "{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization, resources: [a.yaml]}"

    with pytest.raises(ManifestError, match="give what `kubectl kustomize` makes of its folder"):
        decode_all(parse_manifests(text.encode(), "x.yaml"))


BUDGET = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c}]\n  priority:",
            "Pod p: spec.priority: the file ends with this field, which has no value: was it cut off?",
        ),
        (
            f"{POD % 'p'}\n---\n{BUDGET}",
            "PodDisruptionBudget web: the file ends with this object, which has no spec: was it cut off?",
        ),
    ],
)
def test_a_file_that_hardly_anybody_means_to_end_there_is_asked_after(text: str, warned: str) -> None:
    assert warnings(text) == (f"x.yaml: {warned}",)


def test_a_file_is_not_asked_after_for_what_is_missing_before_its_end_or_for_its_last_newline() -> None:
    assert warnings(f"{BUDGET}---\n{POD % 'p'}") == ()
    assert warnings(f"{BUDGET}spec:\n  selector: {{}}") == ()
    assert warnings("{apiVersion: v1, kind: Namespace, metadata: {name: n}}") == ()


@pytest.mark.parametrize(
    ("kind", "key", "meant"),
    [
        ("NodePool", "treenail.sh/paybak", "; did you mean treenail.sh/payback?"),
        ("Deployment", "treenail.sh/min-nodes", ""),
        ("CronJob", "treenail.sh/runs-for", "; it is read from the template of the pods"),
        ("Job", "treenail.sh/runs-for", "; it is read from the template of the pods"),
    ],
)
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_an_annotation_of_ours_that_its_kind_cannot_have_is_warned_of(
    kind: str, key: str, meant: str, form: str
) -> None:
    tree = annotated(kind, key)
    written = (
        json.dumps({"kind": "List", "apiVersion": "v1", "items": [tree]}) if form == "json" else text(tree)
    )

    about = f"{kind} {tree['metadata']['name']}: metadata.annotations[{key}]"
    assert warnings(written) == (f"x.yaml: {about}: changes nothing there{meant}",)


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("NodePool", "treenail.sh/payback", "2h"),
        ("NodePool", "treenail.sh/v1-fields", "{}"),
        ("Deployment", "treenail.sh/provision-for", "pods"),
        ("Deployment", "example.com/min-nodes", "3"),
    ],
)
def test_annotations_that_are_acted_on_or_are_not_ours_are_not_warned_of(
    kind: str, key: str, value: str
) -> None:
    assert warnings(text(annotated(kind, key, value))) == ()


_JOB: Manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}}


def annotated(kind: str, key: str, value: str = "3") -> Manifest:
    makers: dict[str, Callable[[], Manifest]] = {
        "NodePool": node_pool,
        "Deployment": deployment,
        "CronJob": cron_job,
        "Job": lambda: {**cron_job()["spec"]["jobTemplate"], **_JOB},
    }
    tree = makers[kind]()
    return {**tree, "metadata": {**tree["metadata"], "annotations": {key: value}}}


def cron_job() -> Manifest:
    pods = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": pods}}},
    }
