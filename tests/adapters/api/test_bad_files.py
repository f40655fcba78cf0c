from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.api.builders import problem
from treenail.adapters.api.manifests import ManifestError, decode_all, parse_manifests, read_manifests


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("# nothing\n---\n", "holds no object, only comments"),
        ("a: b\n c: d", "line 2: is not YAML: mapping values are not allowed in this context"),
        (
            '{"kind": "Pod", ]',
            "line 1, column 17: is not JSON: Expecting property name enclosed in double quotes",
        ),
        ("kind: Pod\nspec:\n  a: 1\n  a: 2", "line 4: the key a is there twice"),
        ("[" * 1000, "line 1: is nested too deep"),
        ("a: &a [*a]", "line 1: an alias stands within what it stands for"),
        ("just words", 'an object with apiVersion and kind is expected, not "just words"'),
        ("kind: [Pod]", "object (number 1): kind: is missing, or no text"),
        ("[]", "an object with apiVersion and kind is expected, not []"),
        ('{"kind": "List", "items": [3]}', "an object with apiVersion and kind is expected, not 3"),
        ("kind: List\nitems: {}", "List (number 1): items: must be a list of objects"),
        ("kind: List\nitems: [3]", "an object with apiVersion and kind is expected, not 3"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(text: str, expected: str) -> None:
    assert problem(text) == expected


def test_an_unknown_kind_is_told_which_kinds_there_are() -> None:
    line = problem("{apiVersion: karpenter.sh/v1, kind: NodePol, metadata: {name: x}}")

    assert line.startswith(
        'NodePol x: kind: "NodePol" is not known; did you mean NodePool?; known are AWSNode'
    )
    assert line.endswith(
        "ReplicaSet, ResourceClaim, ResourceClaimTemplate, ResourceQuota, ResourceSlice, StatefulSet,"
        " StorageClass"
    )


def test_aliases_that_stand_for_more_than_memory_holds_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]

    assert problem("\n".join(lines)) == "line 1: stands for more than 5000000 values"


def test_text_as_windows_shells_write_it_is_told_as_such() -> None:
    with pytest.raises(ManifestError, match=r"^win\.yaml: is UTF-16 text: save it as UTF-8$"):
        parse_manifests("kind: Pod\n".encode("utf-16"), "win.yaml")


@pytest.mark.parametrize(
    ("name", "problem"), [("", "a file without a name cannot be read"), ("x" * 5000, "File name too long")]
)
def test_a_name_that_no_file_can_have_is_refused(name: str, problem: str) -> None:
    with pytest.raises(ManifestError, match=problem):
        read_manifests([name])


@pytest.mark.parametrize("data", [b"a: b\nc: \xe4", b'{"kind":\n"\xe4"}'])
def test_text_that_is_not_utf8_is_refused(data: bytes) -> None:
    with pytest.raises(ManifestError, match=r"^latin\.yaml: line 2: is not UTF-8 text$"):
        parse_manifests(data, "latin.yaml")


@pytest.mark.parametrize("depth", [150, 900, 5000])
def test_json_that_is_nested_absurdly_deep_is_refused(depth: int) -> None:
    tree = '{"kind": "Pod", "spec": ' + "[" * depth + "]" * depth + "}"

    assert problem(tree) != "nothing"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"gone\.yaml: there is no such file$"):
        read_manifests([tmp_path / "gone.yaml"])


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r": is a folder without a file .yaml or .yml or .json$"):
        read_manifests([tmp_path])


def test_a_path_that_runs_in_circles_is_unreadable(tmp_path: Path) -> None:
    circle = tmp_path / "circle.yaml"
    circle.symlink_to(circle)

    with pytest.raises(ManifestError, match=r"circle\.yaml: cannot be read: "):
        read_manifests([circle])


def test_an_error_tells_its_parts() -> None:
    tree = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "prod"}, "spec": {}}'

    with pytest.raises(ManifestError) as raised:
        decode_all(parse_manifests(tree.encode(), "p.json"))

    error = raised.value
    assert (error.file, error.object, error.field) == ("p.json", "Pod prod/p", "spec.containers")
    assert error.problem == "is missing"
    assert error.about is not None
    assert (error.about.kind, error.about.namespace, error.about.name) == ("Pod", "prod", "p")
    assert str(error) == "p.json: Pod prod/p: spec.containers: is missing"


@pytest.mark.parametrize(
    ("written", "elsewhere"),
    [
        ("{template: {spec: {kubelet: {maxPods: 20}}}}", "spec.kubelet of the EC2NodeClass"),
        ("{disruption: {expireAfter: 720h}}", "spec.template.spec.expireAfter"),
    ],
)
def test_a_field_that_v1_has_elsewhere_is_told_where(written: str, elsewhere: str) -> None:
    line = problem(f"{{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: x}}, spec: {written}}}")

    assert line.endswith(f"is not a known field: v1 has it as {elsewhere}")
