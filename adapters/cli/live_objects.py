"""Karpenter's objects in a live cluster, read as if they stood in a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from treenail.adapters.cli.converted_files import SourceFile, source_of
from treenail.adapters.cli.kubeconfig import connect
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.kubernetes.connection import Connection, NotConnectedError
from treenail.adapters.kubernetes.documents import pages
from treenail.adapters.kubernetes.resources import AWS_NODE_TEMPLATE, PROVISIONER, Resource
from treenail.domain.model.errors import NotFoundError, PortError

_NAME: Final = "cluster"
_PAGE: Final = 500
_NEW: Final = (
    ("karpenter.sh", "NodePool", "nodepools"),
    ("karpenter.k8s.aws", "EC2NodeClass", "ec2nodeclasses"),
)
_OTHER: Final = {"v1": "v1beta1", "v1beta1": "v1"}


def live_objects(kubeconfig: Path | None, context: str | None, to: str) -> SourceFile:
    """Return the cluster's Provisioners and AWSNodeTemplates, and what is not served in the version `to`.

    Raises:
        BadInputError: the cluster cannot be reached or read, or has nothing to convert.
    """
    try:
        connection = connect(kubeconfig, context)
        try:
            found = _found(connection, to)
        finally:
            connection.close()
    except (NotConnectedError, PortError) as error:
        raise BadInputError(f"--from-cluster: {error}") from None
    if not found:
        raise BadInputError(f"--from-cluster: there is nothing in the cluster that is not in {to} already")
    text = yaml.safe_dump_all(found, sort_keys=False, allow_unicode=True)
    return source_of(_NAME, text.encode())


def _found(connection: Connection, to: str) -> list[dict[str, Any]]:
    found = [
        one for resource in (PROVISIONER, AWS_NODE_TEMPLATE) for one in objects_of(connection, resource) or ()
    ]
    for group, kind, plural in _NEW:
        if objects_of(connection, Resource(kind, f"{group}/{to}", plural)) is None:
            found += objects_of(connection, Resource(kind, f"{group}/{_OTHER[to]}", plural)) or ()
    return found


def objects_of(
    connection: Connection, resource: Resource, *, fields: str = ""
) -> list[dict[str, Any]] | None:
    """Return all objects of a kind, less what only the server needs, None where it is not served.

    `fields` selects some by their fields, as the API server's fieldSelector does.
    """
    path = resource.path()
    first = {"limit": str(_PAGE)} | ({"fieldSelector": fields} if fields else {})
    try:
        listed = list(pages(lambda query: connection.request("GET", path, query=query), first, f"GET {path}"))
    except NotFoundError:
        return None
    return [_item(msgspec.json.decode(raw), resource) for page in listed for raw in page.items or ()]


def _item(item: Any, resource: Resource) -> dict[str, Any]:  # noqa: ANN401 (any JSON value)
    metadata = item.get("metadata") if isinstance(item, Mapping) else None
    if not isinstance(metadata, Mapping):
        problem = f"GET {resource.path()}: an object of the answer has no metadata"
        raise BadInputError(f"the cluster cannot be read: {problem}")
    kept = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {"apiVersion": resource.api_version, "kind": resource.kind, **item, "metadata": kept}
