"""`treenail convert`: manifests, or what is in a cluster, in another version of the API."""

from __future__ import annotations

import base64
import difflib
import json
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import ManifestError
from treenail.adapters.cli.converted_files import ConvertedFile, SourceFile, converted_files, source_file
from treenail.adapters.cli.kubeconfig import Context, Kubeconfig, no_cluster_beside
from treenail.adapters.cli.output_format import warn
from treenail.adapters.cli.problems import BadInputError

_SEPARATOR = "---\n"


class ApiVersion(StrEnum):
    """The versions that NodePool and EC2NodeClass are served in."""

    V1 = "v1"
    V1BETA1 = "v1beta1"


class ManifestFormat(StrEnum):
    """The forms in which manifests are printed."""

    YAML = "yaml"
    JSON = "json"


def convert(
    *,
    file: Annotated[
        list[str] | None, typer.Option("--file", "-f", help="Manifests to convert; - is stdin.")
    ] = None,
    from_cluster: Annotated[
        bool, typer.Option("--from-cluster", help="Convert the objects of the cluster.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    to: Annotated[ApiVersion, typer.Option(help="The version to convert to.")] = ApiVersion.V1,
    output: Annotated[
        ManifestFormat, typer.Option("--output", "-o", help="The output format.")
    ] = ManifestFormat.YAML,
    diff: Annotated[bool, typer.Option("--diff", help="Show what would change, not the result.")] = False,
    ctx: typer.Context,
) -> None:
    """Turn Provisioners and AWSNodeTemplates, and any NodePools and EC2NodeClasses, into one version."""
    if bool(file) == from_cluster:
        raise BadInputError("say what to convert: -f FILE or --from-cluster, and not both")
    no_cluster_beside(file, ctx)
    sources: Sequence[SourceFile] = (
        [_of_cluster(kubeconfig, context, to)]
        if from_cluster
        else [source_file(Path(one) if one != "-" else one) for one in file or ()]
    )
    files, warnings = converted_files(sources, to.value)
    warn(warnings)
    if diff:
        sys.stdout.writelines(line for one in files for line in _diff(one, to))
    elif output is ManifestFormat.JSON:
        sys.stdout.write(_json(files))
    else:
        sys.stdout.write(_SEPARATOR.join(one.text for one in files))


def _of_cluster(kubeconfig: Path | None, context: str | None, to: ApiVersion) -> SourceFile:
    # The library for it takes a third of a second to import: only those who ask a cluster pay for it.
    from treenail.adapters.cli.live_objects import live_objects  # noqa: PLC0415

    return live_objects(kubeconfig, context, to.value)


def _diff(file: ConvertedFile, to: ApiVersion) -> list[str]:
    old, new = file.source.text.splitlines(keepends=True), file.text.splitlines(keepends=True)
    lines = difflib.unified_diff(old, new, file.source.name, f"{file.source.name} ({to})")
    return [line if line.endswith("\n") else line + "\n" for line in lines]


def _json(files: Sequence[ConvertedFile]) -> str:
    """Write one object as it is, several as a List.

    Raises:
        ManifestError: one holds what JSON has no word for.
    """
    for file in files:
        for tree in file.trees:
            _check(tree, file.source.name)
    trees = [tree for file in files for tree in file.trees]
    whole = trees[0] if len(trees) == 1 else {"apiVersion": "v1", "kind": "List", "items": trees}
    return _written(whole) + "\n"


def _check(tree: Mapping[str, Any], file: str) -> None:
    try:
        _written(tree)
    except TypeError as error:
        raise _unwritable(tree, file, str(error)) from None
    except ValueError:
        raise _unwritable(tree, file, "it holds a number that is not finite") from None


def _unwritable(tree: Mapping[str, Any], file: str, why: str) -> ManifestError:
    metadata = tree.get("metadata")
    name = metadata.get("name", "") if isinstance(metadata, Mapping) else ""
    return ManifestError(file, f"{tree.get('kind')} {name}".strip(), "", f"cannot be written as JSON: {why}")


def _written(tree: Mapping[str, Any]) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False, default=_base64)


def _base64(value: object) -> str:
    """Return binary data as the API server writes it; JSON has no word for sets and what else YAML knows."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(f"it holds {quoted(value)}")
