"""A custom resource definition: its names, its versions, and the manifest they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from treenail.adapters.api.schema.constraints import Constraints, constrain
from treenail.adapters.api.schema.structural import Tree, schema_of

# Without it the API server would change only the version, and drop what the other has no field for.
_CONVERSION: Final[Mapping[str, Any]] = {
    "strategy": "Webhook",
    "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {"namespace": "kube-system", "name": "treenail", "path": "/convert", "port": 8443}
        },
    },
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`; a `wide` one is shown only with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False

    def tree(self) -> Tree:
        own = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return own | ({"priority": 1} if self.wide else {})


AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")


def condition(kind: str, *, wide: bool = False) -> Column:
    """Return the column of a condition's status."""
    return Column(kind, f'.status.conditions[?(@.type=="{kind}")].status', wide=wide)


def label(name: str, key: str, *, wide: bool = False) -> Column:
    """Return the column of a label's value."""
    return Column(name, f".metadata.labels.{key.replace('.', chr(92) + '.')}", wide=wide)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A served version: the model of its objects, of their status, and what is demanded beyond types.

    Of the versions of one definition the last is the one that is stored.
    """

    name: str
    model: type[msgspec.Struct]
    status: type[msgspec.Struct]
    constraints: Constraints
    columns: tuple[Column, ...] = ()
    scale: Mapping[str, str] = field(default_factory=dict)

    def schema(self) -> Tree:
        """Return the schema of its objects."""
        made = schema_of(self.model, self.status)
        constrain(made, self.constraints)
        return made

    def tree(self, *, stored: bool) -> Tree:
        subresources: dict[str, Any] = {"status": {}}
        if self.scale:
            subresources["scale"] = dict(self.scale)
        columns = [column.tree() for column in self.columns]
        return {
            "name": self.name,
            "served": True,
            "storage": stored,
            "subresources": subresources,
            **({"additionalPrinterColumns": columns} if columns else {}),
            "schema": {"openAPIV3Schema": self.schema()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A kind in all its versions."""

    group: str
    kind: str
    plural: str
    versions: tuple[Version, ...]
    short_names: tuple[str, ...] = ()
    category: str = "karpenter"
    namespaced: bool = False

    @property
    def name(self) -> str:
        """The name of the definition, such as "nodepools.karpenter.sh"."""
        return f"{self.plural}.{self.group}"

    @property
    def file(self) -> str:
        """The name of the file that it is written to."""
        return f"{self.group}_{self.plural}.yaml"

    def manifest(self) -> Tree:
        """Return the definition as the API server takes it."""
        names: dict[str, Any] = {
            "kind": self.kind,
            "listKind": f"{self.kind}List",
            "plural": self.plural,
            "singular": self.kind.lower(),
            "categories": [self.category],
        }
        if self.short_names:
            names["shortNames"] = list(self.short_names)
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name},
            "spec": {
                "group": self.group,
                "scope": "Namespaced" if self.namespaced else "Cluster",
                "names": names,
                "versions": [one.tree(stored=one is self.versions[-1]) for one in self.versions],
                **({"conversion": dict(_CONVERSION)} if len(self.versions) > 1 else {}),
            },
        }
