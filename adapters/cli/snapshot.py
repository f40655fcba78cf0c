"""`treenail snapshot`: a cluster and its account, written to one file that other commands take."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, TextIO

import typer
import yaml

from treenail.adapters.api.snapshot.redaction import Tree
from treenail.adapters.cli.kubeconfig import Context, Kubeconfig
from treenail.adapters.cli.output_format import warn
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.snapshot_account import AccountWritten, write_account
from treenail.adapters.cli.snapshot_cluster import ClusterWritten, write_cluster

_API_VERSION: Final = "treenail.sh/v1alpha1"
_STDOUT: Final = "-"
# Written in C where the machine has it: ten times as fast.
_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def snapshot(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The file; - is stdout.")],
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    account: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option(help="Read the account as well, with the AWS credentials at hand.")
    ] = True,
    region: Annotated[
        str, typer.Option(help="The region of the account; by default that of the nodes.")
    ] = "",
) -> None:
    """Write what a cluster and an account have into one file, without what may be secret."""
    file = None if output == _STDOUT else Path(output)
    if file is not None and (file.is_dir() or not file.parent.is_dir()):
        raise BadInputError(f"--output {output}: cannot be written: no file of an existing folder")
    cluster = write_cluster(kubeconfig, context)
    taken_at = datetime.now(UTC)
    read = write_account(cluster, region) if account else None
    missing = (*cluster.not_read, *(read.not_read if read is not None else ()))
    documents = [
        _head(missing, taken_at),
        *((read.document,) if read and read.document else ()),
        *cluster.objects,
        _document("ClusterSnapshotEnd"),
    ]
    if file is None:
        _write(documents, sys.stdout)
    else:
        try:
            with file.open("w", encoding="utf-8") as stream:
                _write(documents, stream)
        except OSError as error:
            raise BadInputError(f"--output {output}: cannot be written: {error.strerror}") from None
    _tell(cluster, read, missing, output)


def _head(missing: tuple[str, ...], taken_at: datetime) -> Tree:
    # The end is named first, so that a file that was cut off anywhere after its kind lacks one or the other.
    spec: Tree = {
        "endsWith": "ClusterSnapshotEnd",
        "takenAt": taken_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
    }
    if missing:
        spec["notRead"] = list(missing)
    return {**_document("ClusterSnapshot"), "spec": spec}


def _document(kind: str) -> Tree:
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": {"name": "cluster"}}


def _write(documents: list[Tree], stream: TextIO) -> None:
    yaml.dump_all(documents, stream, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, explicit_start=True)


def _tell(
    cluster: ClusterWritten, read: AccountWritten | None, missing: tuple[str, ...], output: str
) -> None:
    """Write a line on what was read to stderr, and warnings on what was not."""
    of_account = f"; of the account {read.told}" if read is not None and read.document else ""
    sys.stderr.write(f"treenail: {output}: {cluster.counts()}{of_account}\n")
    if missing:
        warn([f"not read: {'; '.join(missing)}"])
    if cluster.without_user_data:
        many = (
            f"{cluster.without_user_data} node classes" if cluster.without_user_data > 1 else "a node class"
        )
        warn([f"spec.userData of {many} is left out, as it may hold secrets"])
