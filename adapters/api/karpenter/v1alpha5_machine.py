"""karpenter.sh/v1alpha5 Machine."""

from __future__ import annotations

from dataclasses import replace

from msgspec import field

from treenail.adapters.api.karpenter.claims import ClaimSpecModel, ClaimStatusModel, claim, from_machine
from treenail.adapters.api.karpenter.references import ProviderRefModel, provider_of
from treenail.adapters.api.karpenter.requirements import OldRequirementModel
from treenail.adapters.api.kubelet import OldKubeletModel
from treenail.adapters.api.metadata import ConditionModel, StrictObject
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model import labels
from treenail.domain.model.node_pools import Generation


class MachineSpecModel(ClaimSpecModel):
    """The spec of a Machine."""

    requirements: tuple[OldRequirementModel, ...] = ()
    kubelet: OldKubeletModel | None = None
    machine_template_ref: ProviderRefModel | None = None


class MachineConditionModel(ConditionModel, kw_only=True, forbid_unknown_fields=True):
    """A condition of a Machine."""

    severity: str = ""


class MachineStatusModel(ClaimStatusModel):
    """The status of a Machine. Karpenter's has no `imageID`."""

    conditions: tuple[MachineConditionModel, ...] = ()


class MachineModel(StrictObject, kw_only=True):
    """karpenter.sh/v1alpha5 Machine."""

    spec: MachineSpecModel = field(default_factory=MachineSpecModel)
    status: MachineStatusModel = field(default_factory=MachineStatusModel)


def machine(model: MachineModel, reading: Reading) -> Translation:
    """Return the claim; FieldError says what is wrong with it.

    One without a template's reference is of the provider within its Provisioner.
    """
    spec, ref = model.spec, model.spec.machine_template_ref
    runtime = spec.kubelet.container_runtime if spec.kubelet is not None else ""
    kubelet = spec.kubelet.value("spec.kubelet", container_runtime=runtime) if spec.kubelet else None
    inline = provider_of(model.metadata.labels.get(labels.PROVISIONER, ""))
    own = claim(
        model.metadata,
        spec,
        model.status,
        reading,
        generation=Generation.V1ALPHA5,
        node_class=ref.value("spec.machineTemplateRef") if ref else inline,
        requirements=spec.requirements,
        conditions=tuple(from_machine(c) for c in model.status.conditions),
    )
    own = replace(own, kubelet=kubelet)
    # Where there is a Provisioner, it says what the kubelet is told.
    passed_over = ("spec.kubelet",) if kubelet is not None and not own.stands_alone else ()
    return Translation(objects=(own,), not_acted_on=(*passed_over, *spec.dated_taints()))
