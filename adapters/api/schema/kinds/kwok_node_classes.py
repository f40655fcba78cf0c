"""The definition of KWOKNodeClass."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.kwok.v1alpha1_node_class import KWOKNodeClassModel
from treenail.adapters.api.schema.constraints import below
from treenail.adapters.api.schema.definitions import AGE, Definition, Version, condition
from treenail.adapters.api.schema.rules.forms import duration
from treenail.adapters.api.schema.statuses import KWOKNodeClassStatusModel

_V1ALPHA1: Final = Version(
    name="v1alpha1",
    model=KWOKNodeClassModel,
    status=KWOKNodeClassStatusModel,
    constraints=below("spec", {"nodeRegistrationDelay": duration()}),
    columns=(condition("Ready"), AGE),
)

KWOK_NODE_CLASSES: Final = Definition(
    group="karpenter.kwok.sh",
    kind="KWOKNodeClass",
    plural="kwoknodeclasses",
    short_names=("kwoknc", "kwokncs"),
    versions=(_V1ALPHA1,),
)
