"""Warnings of the API server for fields that are accepted but not acted on.

Reading warns of the same fields. Here they are admission policies that refuse nothing, so that whoever runs
`kubectl apply` sees the warnings too. `python -m treenail.adapters.api.schema.warnings FILE` writes them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.structural import Tree
from treenail.domain.model.not_acted_on import what_follows
from treenail.domain.model.requirements import Operator

_HEAD: Final = "# Made from adapters/api/schema/warnings.py by `make crds`: change that.\n"
_WIDTH: Final = 110
_NO_VALUES: Final = cel.texts((Operator.EXISTS.value, Operator.DOES_NOT_EXIST.value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Warnings:
    """Warnings about the fields of one version of a kind that have no effect.

    `acted_on` has, by field, the CEL expression that is true where the field has its effect.
    """

    group: str
    version: str
    plural: str
    acted_on: Mapping[str, str]

    @property
    def name(self) -> str:
        return f"not-acted-on.{self.plural}.{self.version}.{self.group}"

    def manifests(self) -> tuple[Tree, Tree]:
        """Return the policy, and the binding that makes it warn."""
        rule = {
            "apiGroups": [self.group],
            "apiVersions": [self.version],
            "operations": ["CREATE", "UPDATE"],
            "resources": [self.plural],
        }
        policy = {
            "failurePolicy": "Ignore",
            "matchConstraints": {"matchPolicy": "Exact", "resourceRules": [rule]},
            "validations": [
                {"expression": expression, "message": f"{field}: is {what_follows(field)}"}
                for field, expression in self.acted_on.items()
            ],
        }
        binding = {"policyName": self.name, "validationActions": ["Warn"]}
        return self._manifest("ValidatingAdmissionPolicy", policy), self._manifest(
            "ValidatingAdmissionPolicyBinding", binding
        )

    def _manifest(self, kind: str, spec: Tree) -> Tree:
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": self.name},
            "spec": spec,
        }


def _of_template(path: str) -> dict[str, str]:
    """Return the expressions for taints and requirements of what stands at `path`, which may be left out."""
    below = path.replace(".", ".?")
    made = {
        f"{path}.{field}[].timeAdded": f"object.{below}.?{field}.orValue([]).all(t, !has(t.timeAdded))"
        for field in ("taints", "startupTaints")
    }
    bare = f"!(r.operator in {_NO_VALUES}) || !has(r.values) || size(r.values) == 0"
    made[f"{path}.requirements[].values"] = f"object.{below}.?requirements.orValue([]).all(r, {bare})"
    return made


WARNINGS: Final = (
    Warnings(
        group="karpenter.sh",
        version="v1",
        plural="nodepools",
        acted_on={
            "spec.replicas": "!has(object.spec.replicas)",
            **_of_template("spec.template.spec"),
        },
    ),
    Warnings(
        group="karpenter.sh",
        version="v1beta1",
        plural="nodepools",
        acted_on=_of_template("spec.template.spec"),
    ),
    Warnings(
        group="karpenter.sh",
        version="v1alpha5",
        plural="provisioners",
        acted_on=_of_template("spec"),
    ),
    Warnings(
        group="karpenter.kwok.sh",
        version="v1alpha1",
        plural="kwoknodeclasses",
        acted_on={"spec.nodeRegistrationDelay": "!has(object.spec.nodeRegistrationDelay)"},
    ),
)


def text() -> str:
    """Return all policies and their bindings as one file."""
    manifests = [manifest for one in WARNINGS for manifest in one.manifests()]
    made: str = yaml.safe_dump_all(manifests, sort_keys=False, width=_WIDTH)
    return _HEAD + made


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(text(), encoding="utf-8")
