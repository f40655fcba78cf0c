"""What a service account is granted, and what of it the API server's audit log shows to be used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.real.charts.rendering import NAMESPACE
from tests.real.parts.control_plane import ControlPlane

USER: Final = f"system:serviceaccount:{NAMESPACE}:treenail"
FORBIDDEN: Final = 403
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [{"level": "Metadata", "users": [USER]}, {"level": "None"}],
}


@dataclass(frozen=True, slots=True, order=True)
class Permission:
    """A verb on a resource ("pods/eviction", "nodepools.karpenter.sh") or a path."""

    verb: str
    on: str

    def __str__(self) -> str:
        return f"{self.verb} {self.on}"


class AuditLog:
    """The API server's log of what the controller asked, in `folder`; `flags` have it written."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "audit.log"
        self._policy = folder / "audit-policy.yaml"
        self._policy.write_text(json.dumps(_POLICY))

    @property
    def flags(self) -> list[str]:
        return [
            f"--audit-policy-file={self._policy}",
            f"--audit-log-path={self._log}",
            "--audit-log-mode=blocking",
        ]

    def used(self) -> frozenset[Permission]:
        """Return what was asked and allowed."""
        return frozenset(_permission(event) for event in self._events() if _code(event) != FORBIDDEN)

    def refused(self) -> list[str]:
        """Return what was asked and forbidden."""
        return [
            f"{event['verb']} {event['requestURI']}" for event in self._events() if _code(event) == FORBIDDEN
        ]

    def _events(self) -> Iterator[dict[str, Any]]:
        for line in self._log.read_text().splitlines():
            event = json.loads(line)
            if event["user"]["username"] == USER and event["stage"] != "RequestReceived":
                yield event


def granted(plane: ControlPlane) -> frozenset[Permission]:
    """Return what roles allow the account now, by whatever binding."""
    rules = [rule for role in _roles(plane) for rule in plane.request("GET", role)[1]["rules"]]
    return frozenset(permission for rule in rules for permission in _permissions(rule))


def _roles(plane: ControlPlane) -> Iterator[str]:
    for bindings in ("clusterrolebindings", "rolebindings"):
        for binding in plane.request("GET", f"{_RBAC}/{bindings}")[1]["items"]:
            for subject in binding.get("subjects", ()):
                if (subject["kind"], subject["name"]) == ("ServiceAccount", "treenail"):
                    assert subject["namespace"] == NAMESPACE
                    ref, namespace = binding["roleRef"], binding["metadata"].get("namespace")
                    within = f"/namespaces/{namespace}" if ref["kind"] == "Role" else ""
                    yield f"{_RBAC}{within}/{ref['kind'].lower()}s/{ref['name']}"


def _permissions(rule: dict[str, Any]) -> Iterator[Permission]:
    for verb in rule["verbs"]:
        for path in rule.get("nonResourceURLs", ()):
            yield Permission(verb, path)
        for group in rule.get("apiGroups", ()):
            for resource in rule.get("resources", ()):
                yield Permission(verb, _name(resource, group))


def _permission(event: dict[str, Any]) -> Permission:
    about = event.get("objectRef")
    if about is None:
        return Permission(event["verb"], event["requestURI"].partition("?")[0])
    part = f"/{about['subresource']}" if "subresource" in about else ""
    return Permission(event["verb"], _name(about["resource"] + part, about.get("apiGroup", "")))


def _name(resource: str, group: str) -> str:
    """Return "nodepools.karpenter.sh/status" and the like."""
    plural, slash, part = resource.partition("/")
    return f"{plural}.{group}{slash}{part}" if group else resource


def _code(event: dict[str, Any]) -> int:
    return int(event.get("responseStatus", {}).get("code", 0))
