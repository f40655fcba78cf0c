"""What of Karpenter's kinds is in a cluster, as if it stood in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from treenail.adapters.cli.converted_files import SourceFile, source_of
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.kubernetes.connection import Connection, NotConnectedError
from treenail.adapters.kubernetes.resources import AWS_NODE_TEMPLATE, PROVISIONER, Resource
from treenail.domain.ports import NotFoundError, PortError

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
        connection = Connection.open(kubeconfig=kubeconfig or _usual(), context=context, qps=1, burst=1)
        found = [
            one for resource in (PROVISIONER, AWS_NODE_TEMPLATE) for one in _all(connection, resource) or ()
        ]
        for group, kind, plural in _NEW:
            if _all(connection, Resource(kind, f"{group}/{to}", plural)) is None:
                found += _all(connection, Resource(kind, f"{group}/{_OTHER[to]}", plural)) or ()
    except (NotConnectedError, PortError) as error:
        raise BadInputError(f"--from-cluster: {error}") from None
    if not found:
        raise BadInputError(f"--from-cluster: there is nothing in the cluster that is not in {to} already")
    text = yaml.safe_dump_all(found, sort_keys=False, allow_unicode=True)
    return source_of(_NAME, text.encode())


def _usual() -> Path:
    return Path.home() / ".kube/config"


def _all(connection: Connection, resource: Resource) -> list[dict[str, Any]] | None:
    """Return all objects of a kind, less what only the server needs, None where it is not served."""
    found: list[dict[str, Any]] = []
    more = ""
    while True:
        query = {"limit": str(_PAGE)} | ({"continue": more} if more else {})
        try:
            page = msgspec.json.decode(connection.request("GET", resource.path(), query=query))
        except NotFoundError:
            return None
        for item in page.get("items") or ():
            item.get("metadata", {}).pop("managedFields", None)
            found.append({"apiVersion": resource.api_version, "kind": resource.kind, **item})
        more = page.get("metadata", {}).get("continue", "")
        if not more:
            return found
