from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterator
from datetime import datetime
from enum import EnumMeta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from treenail.adapters.api.autoscaling.capacity_buffer import CapacityBufferModel
from treenail.adapters.api.documents import Manifest
from treenail.adapters.api.kinds import KINDS
from treenail.adapters.api.manifests import decode, read_manifests
from treenail.adapters.api.schema.__main__ import main
from treenail.adapters.api.schema.catalogue import DEFINITIONS, files
from treenail.adapters.api.schema.constraints import Constraint, below, constrain, paths
from treenail.adapters.api.schema.definitions import Definition, Version
from treenail.adapters.api.schema.kinds.machines import MACHINES
from treenail.adapters.api.schema.kinds.node_claims import NODE_CLAIMS
from treenail.adapters.api.schema.structural import schema_of
from treenail.adapters.api.schema.warnings import text

HERE = Path(__file__).parent
CRDS = HERE.parents[3] / "deploy/crds"
EVERYTHING = read_manifests([HERE / "everything.yaml"])
KARPENTERS: dict[str, list[str]] = json.loads((HERE / "karpenter-fields.json").read_text())
VERSIONS = {f"{d.group}/{v.name} {d.kind}": v for d in DEFINITIONS for v in d.versions}
TOP = {"apiVersion", "kind", "metadata"}
each_version = pytest.mark.parametrize("version", sorted(VERSIONS))


def fields_of(kind: Any, at: str = "") -> Iterator[str]:
    """The paths of all that a type of a model can hold."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        yield from fields_of(args[0], at)
    elif origin in (typing.Union, types.UnionType):
        for one in args:
            yield from fields_of(one, at)
    elif origin is tuple:
        yield f"{at}[]"
        yield from fields_of(args[0], f"{at}[]")
    elif origin is dict:
        yield f"{at}{{}}"
        yield from fields_of(args[1], f"{at}{{}}")
    elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for field in msgspec.structs.fields(kind):
            path = f"{at}.{field.encode_name}" if at else field.encode_name
            yield path
            yield from fields_of(field.type, path)
    else:
        plain = (str, int, float, bool, datetime, type(None), Any)
        assert kind in plain or origin is typing.Literal or isinstance(kind, EnumMeta), kind


def leaves(tree: Any, at: str = "") -> Iterator[str]:
    """The paths of what is set in a manifest, as a schema writes them: "a.b[].c"."""
    match tree:
        case dict():
            for key, value in tree.items():
                yield from leaves(value, f"{at}.{key}" if at else key)
        case list():
            for item in tree:
                yield from leaves(item, f"{at}[]")
        case _:
            yield at


def leaf_paths(schema: dict[str, Any]) -> set[str]:
    return {p for p, s in paths(schema) if not {"properties", "items", "additionalProperties"} & s.keys()}


def set_in(manifest: Manifest, schema: dict[str, Any]) -> set[str]:
    """The paths of what is set in a manifest, with what is named freely as "{}"."""
    maps = sorted((p for p, s in paths(schema) if "additionalProperties" in s), key=len)
    found = set()
    for path in leaves(msgspec.to_builtins(manifest.content)):
        within = next((m for m in maps if path.startswith(f"{m}.")), None)
        found.add(f"{within}{{}}" if within else path)
    return found


def test_the_files_are_what_the_models_say() -> None:
    there = {path.name: path.read_text(encoding="utf-8") for path in CRDS.iterdir()}

    assert there == files(), "run make crds"


def test_the_file_of_warnings_is_what_their_rules_say() -> None:
    assert (CRDS.parent / "chart-crd" / "warnings.yaml").read_text(encoding="utf-8") == text(), (
        "run make crds"
    )


def test_a_file_of_no_definition_any_more_goes(tmp_path: Path) -> None:
    (tmp_path / "karpenter.sh_machinesets.yaml").touch()

    main(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == set(files())


def test_every_kind_of_ours_is_defined_by_the_model_that_reads_it() -> None:
    ours = {f"{group} {kind}": k.model for (group, kind), k in KINDS.items() if "karpenter" in group}
    shared = {"autoscaling.x-k8s.io/v1beta1 CapacityBuffer": CapacityBufferModel}

    assert {name: version.model for name, version in VERSIONS.items()} == ours | shared


@each_version
def test_the_schema_has_the_fields_of_its_model_and_no_others(version: str) -> None:
    own = VERSIONS[version]
    read = {p for p in fields_of(own.model) if p.startswith("spec")}
    written = {f"status{p}" if p[0] in "[{" else f"status.{p}" for p in fields_of(own.status)}

    assert {path for path, _ in paths(own.schema())} == {"", "status", *TOP} | read | written


@each_version
def test_what_is_read_of_a_status_can_be_written(version: str) -> None:
    own = VERSIONS[version]
    read = {p for p in fields_of(own.model) if p.startswith("status.")}

    assert read <= {path for path, _ in paths(own.schema())}


@pytest.mark.parametrize("version", sorted(KARPENTERS))
def test_every_field_that_karpenter_knows_is_kept(version: str) -> None:
    assert set(KARPENTERS[version]) - {path for path, _ in paths(VERSIONS[version].schema())} == set()


@each_version
def test_every_field_says_what_it_is_for(version: str) -> None:
    named = [s for p, s in paths(VERSIONS[version].schema()) if not p.endswith(("[]", "{}", "metadata"))]

    assert [s for s in named if not s.get("description")] == []


@each_version
def test_every_part_of_a_schema_has_a_type(version: str) -> None:
    for path, schema in paths(VERSIONS[version].schema()):
        assert ("type" in schema) != ("x-kubernetes-int-or-string" in schema), path
        assert not schema.keys() & {"$ref", "nullable", "const", "allOf", "oneOf"}, path


@each_version
def test_the_manifests_of_everything_set_every_field_of_the_spec(version: str) -> None:
    schema = VERSIONS[version].schema()
    own = [m for m in EVERYTHING if f"{m.api_version} {m.kind}" == version]
    wanted = {path for path in leaf_paths(schema) if path.startswith("spec")}

    assert {p for m in own for p in set_in(m, schema) if p.startswith("spec")} == wanted


@pytest.mark.parametrize("manifest", EVERYTHING, ids=lambda m: f"{m.kind} {m.name}")
def test_the_manifests_of_everything_are_understood(manifest: Manifest) -> None:
    assert decode(manifest)


def test_conditions_are_kept_by_their_type() -> None:
    for name, version in VERSIONS.items():
        conditions = dict(paths(version.schema()))["status.conditions"]
        assert conditions["x-kubernetes-list-type"] == "map", name
        assert conditions["x-kubernetes-list-map-keys"] == ["type"], name


def test_of_several_versions_all_are_served_and_the_last_is_stored() -> None:
    old, new = MACHINES.versions[-1], NODE_CLAIMS.versions[-1]
    both = Definition(group="g", kind="Claim", plural="claims", versions=(old, new))

    versions = both.manifest()["spec"]["versions"]

    assert [(v["name"], v["served"], v["storage"]) for v in versions] == [
        ("v1alpha5", True, False),
        ("v1", True, True),
    ]


def test_what_has_several_versions_is_converted_and_never_just_renamed() -> None:
    for definition in DEFINITIONS:
        conversion = definition.manifest()["spec"].get("conversion", {})
        assert (conversion.get("strategy") == "Webhook") == (len(definition.versions) > 1), definition.name


def test_a_constraint_on_a_field_that_is_not_there_is_a_mistake() -> None:
    version: Version = NODE_CLAIMS.versions[0]
    schema = schema_of(version.model, version.status)

    with pytest.raises(KeyError, match="requirement"):
        constrain(schema, {"spec.requirement[].key": Constraint()})


def test_two_constraints_on_one_field_are_a_mistake() -> None:
    with pytest.raises(ValueError, match=r"spec\.taints"):
        below("spec", {"taints": Constraint()}, {"taints": Constraint()})
