"""The definition of NodeOverlay."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.amounts import MOST_OF_ONE
from treenail.adapters.api.karpenter.v1alpha1_node_overlay import STANDARD_RESOURCES, NodeOverlayModel
from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.constraints import Constraint, Rule, below
from treenail.adapters.api.schema.definitions import AGE, Column, Definition, Version, condition
from treenail.adapters.api.schema.rules import forms, requirements
from treenail.adapters.api.schema.statuses import NodeOverlayStatusModel

_ONE_PRICE: Final = Rule(
    "!has(self.price) || !has(self.priceAdjustment)", "cannot stand beside price", "priceAdjustment"
)
_EXTENDED: Final = (
    Rule(
        f"self.all(k, !(k in {cel.texts(STANDARD_RESOURCES)}))",
        f"must not name {', '.join(STANDARD_RESOURCES)}: only extended resources can be added",
    ),
    Rule(
        f"self.all(k, k.matches({cel.text(forms.KEY)}))",
        "its keys must be names of resources (such as example.com/device)",
    ),
)

_V1ALPHA1: Final = Version(
    name="v1alpha1",
    model=NodeOverlayModel,
    status=NodeOverlayStatusModel,
    constraints=below(
        "spec",
        {"": Constraint([_ONE_PRICE]), "capacity": Constraint(_EXTENDED)},
        forms.amounts("capacity", most=MOST_OF_ONE),
        requirements.of_overlay("requirements"),
    ),
    columns=(condition("Ready"), AGE, Column("Weight", ".spec.weight", "integer", wide=True)),
)

NODE_OVERLAYS: Final = Definition(
    group="karpenter.sh",
    kind="NodeOverlay",
    plural="nodeoverlays",
    short_names=("overlays",),
    versions=(_V1ALPHA1,),
)
