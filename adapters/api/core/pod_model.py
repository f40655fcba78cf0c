"""The typed model of a pod's spec: the fields that scheduling uses."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from treenail.adapters.api.core.volume_sources import DisksModel
from treenail.adapters.api.model import Model, NotEmpty, Port, Positive, Quantities
from treenail.adapters.api.selectors import LabelSelectorModel, NodeSelectorModel, NodeTermModel
from treenail.domain.model.taints import TolerationOperator

Weight: TypeAlias = Annotated[int, Meta(ge=1, le=100)]
# The port 0 is one that is not claimed.
HostPortNumber: TypeAlias = Annotated[int, Meta(ge=0, le=65535)]
RestartPolicy: TypeAlias = Literal["Always", "OnFailure", "Never"]


class ResourcesModel(Model):
    """Requests and limits of a container, or of a pod as a whole."""

    requests: Quantities = field(default_factory=dict)
    limits: Quantities = field(default_factory=dict)


class ContainerPortModel(Model, kw_only=True):
    """A port of a container."""

    container_port: Port
    host_port: HostPortNumber = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"


class ContainerModel(Model):
    """A container, or an init container: one that always restarts is a sidecar."""

    name: str = ""
    resources: ResourcesModel = field(default_factory=ResourcesModel)
    ports: tuple[ContainerPortModel, ...] = ()
    restart_policy: RestartPolicy | None = None


class TolerationModel(Model):
    """A toleration of taints."""

    key: str = ""
    operator: TolerationOperator = TolerationOperator.EQUAL
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""
    toleration_seconds: int | None = None


class PreferredNodeTermModel(Model, kw_only=True):
    """A preference of nodes."""

    weight: Weight
    preference: NodeTermModel


class NodeAffinityModel(Model):
    """Demands and preferences of nodes."""

    required: NodeSelectorModel | None = field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[PreferredNodeTermModel, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTermModel(Model, kw_only=True):
    """Pods to be near, or away from."""

    topology_key: NotEmpty
    label_selector: LabelSelectorModel | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelectorModel | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTermModel(Model, kw_only=True):
    """A preference of pods to be near, or away from."""

    weight: Weight
    pod_affinity_term: PodAffinityTermModel


class PodAffinityModel(Model):
    """Demands and preferences of pods to be near, or away from."""

    required: tuple[PodAffinityTermModel, ...] = field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[WeightedPodAffinityTermModel, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class AffinityModel(Model):
    """All affinities of a pod."""

    node_affinity: NodeAffinityModel | None = None
    pod_affinity: PodAffinityModel | None = None
    pod_anti_affinity: PodAffinityModel | None = None


class SpreadModel(Model, kw_only=True):
    """A topology spread constraint."""

    topology_key: NotEmpty
    max_skew: Positive
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    label_selector: LabelSelectorModel | None = None
    min_domains: Positive | None = None
    node_affinity_policy: Literal["Honor", "Ignore"] = "Honor"
    node_taints_policy: Literal["Honor", "Ignore"] = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class ClaimVolumeModel(Model, kw_only=True):
    """A volume that is a claim of the pod's namespace."""

    claim_name: NotEmpty


class EphemeralClaimSpecModel(Model):
    """The spec of a claim on storage: the fields that matter for ephemeral ones."""

    storage_class_name: str | None = None


class ClaimTemplateModel(Model):
    """The template that an ephemeral claim is made from."""

    spec: EphemeralClaimSpecModel = field(default_factory=EphemeralClaimSpecModel)


class EphemeralVolumeModel(Model, kw_only=True):
    """A volume whose claim lives as long as the pod."""

    volume_claim_template: ClaimTemplateModel


class VolumeModel(DisksModel):
    """A volume: a claim, a disk, or something that says nothing about nodes."""

    name: str = ""
    persistent_volume_claim: ClaimVolumeModel | None = None
    ephemeral: EphemeralVolumeModel | None = None

    @property
    def matters(self) -> bool:
        """True if it says anything about nodes."""
        return bool(self.persistent_volume_claim or self.ephemeral or self.disk()[0])


class NamedModel(Model, kw_only=True):
    """Something known by its name: a scheduling gate."""

    name: NotEmpty


class PodResourceClaimModel(Model, kw_only=True):
    """A claim on devices, by name or by the template it is made from."""

    name: NotEmpty
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PodSpecModel(Model, kw_only=True):
    """A pod's spec."""

    containers: Annotated[tuple[ContainerModel, ...], Meta(min_length=1)]
    init_containers: tuple[ContainerModel, ...] = ()
    resources: ResourcesModel | None = None
    overhead: Quantities = field(default_factory=dict)
    node_name: str = ""
    node_selector: dict[str, str] = field(default_factory=dict)
    affinity: AffinityModel | None = None
    tolerations: tuple[TolerationModel, ...] = ()
    topology_spread_constraints: tuple[SpreadModel, ...] = ()
    host_network: bool = False
    volumes: tuple[VolumeModel, ...] = ()
    resource_claims: tuple[PodResourceClaimModel, ...] = ()
    scheduler_name: str = "default-scheduler"
    scheduling_gates: tuple[NamedModel, ...] = ()
    priority: int = 0
    priority_class_name: str = ""
    restart_policy: RestartPolicy = "Always"
    termination_grace_period_seconds: int = 30
    active_deadline_seconds: int | None = None
