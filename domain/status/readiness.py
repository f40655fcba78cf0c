"""Readiness of pools and node classes, as their conditions say it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from treenail.domain.cluster.cluster_facts import Kind, ObjectSetAside
from treenail.domain.model.catalogue_keys import CatalogueKey
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_class_status import (
    IMAGES_READY,
    SECURITY_GROUPS_READY,
    SUBNETS_READY,
    VALIDATED,
    NodeClassStatus,
)
from treenail.domain.model.node_classes import Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import READY, Condition, Status, condition_of
from treenail.domain.model.not_acted_on import not_followed

# As Karpenter calls them, and the reasons too: what looks at its pools finds the same at ours.
NODE_CLASS_READY: Final = "NodeClassReady"
_UNHEALTHY: Final = "UnhealthyDependents"
_RECONCILING: Final = "ReconcilingDependents"
_NOT_READY: Final = "NodeClassNotReady"
_NO_CLASS: Final = "NodeClassNotFound"
# As Karpenter has it of overlays that only the API server let pass.
_AT_RUN_TIME: Final = "RuntimeValidation"
_NOT_FOUND: Final = {
    "subnets": "SubnetsNotFound",
    "security groups": "SecurityGroupsNotFound",
    "images": "AMINotFound",
}
_SELECTORS: Final = {
    "subnets": "subnetSelector",
    "security groups": "securityGroupSelector",
    "images": "amiSelector",
}
_SELECTOR_OF: Final = {
    SUBNETS_READY: "subnets",
    SECURITY_GROUPS_READY: "security groups",
    IMAGES_READY: "images",
}
_NOTHING_MEANT: Final = NodeClassStatus()
# Where each kind has its selectors; a Provisioner may have its node class within.
_SELECTOR_FIELDS: Final = {
    "EC2NodeClass": "spec.{}Terms",
    "AWSNodeTemplate": "spec.{}",
    "Provisioner": "spec.provider.{}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClassesWanted:
    """Somebody wants to know whether these node classes can be launched from, with these kubelet settings."""

    wanted: tuple[tuple[NodeClass, Kubelet], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClassChecked:
    """The cloud's answer about a node class: nothing can be launched from it where there is a `problem`.

    `selector` names what its selector finds none of ("subnets"), where that is why, and `reason` is what its
    condition gives, where one is known. Where it is not `certain` there was no answer, and the problem is
    why not.
    """

    key: CatalogueKey
    problem: str = ""
    selector: str = ""
    reason: str = ""
    certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessChanged:
    """A pool or a node class cannot be used, or can be again. The condition says so, and why."""

    about: ObjectRef
    condition: Condition


def told_of(condition: Condition) -> str:
    """Return what the event says of a condition that does not hold, in Karpenter's words where it has any."""
    unresolved = condition.reason == _NO_CLASS
    return f"Failed resolving NodeClass: {condition.message}" if unresolved else condition.message


def selector_field(ref: NodeClassRef, selector: str) -> str:
    """Return the path of a node class's selector of `selector` ("subnets"); "" where it has none."""
    name = _SELECTORS.get(selector)
    return _SELECTOR_FIELDS.get(ref.kind, "").format(name) if name else ""


def invalid(fact: ObjectSetAside) -> tuple[Condition, ...]:
    """Return the conditions of a pool, a node class or an overlay that cannot be understood."""
    reason = f"{fact.kind.value}ValidationFailed" if fact.kind is not Kind.NODE_OVERLAY else _AT_RUN_TIME
    return with_ready(Condition(VALIDATED, Status.FALSE, reason, fact.problem))


def node_class_conditions(
    checked: NodeClassChecked, status: NodeClassStatus = _NOTHING_MEANT
) -> tuple[Condition, ...]:
    """Return the conditions of a node class that is understood: its parts, whether it is valid, and `Ready`.

    `Ready` says which of them fails first, by its reason and message.
    """
    ref = checked.key.node_class
    spoken_of = tuple(replace(c, message=_part_spoken(ref, c)) for c in status.conditions)
    parts = tuple(c for c in spoken_of if c.type != VALIDATED)
    validated = condition_of(spoken_of, VALIDATED) or _validated(checked, parts)
    dependents = (*parts, validated)
    failed = next((c for c in dependents if c.status is Status.FALSE), None)
    unknown = next((c for c in dependents if c.status is Status.UNKNOWN), None)
    ready = Condition(READY, Status.TRUE, READY)
    if failed is not None:
        ready = replace(failed, type=READY)
    elif unknown is not None:
        ready = replace(unknown, type=READY)
    return *dependents, ready


def _validated(checked: NodeClassChecked, parts: tuple[Condition, ...]) -> Condition:
    """Return whether instances of a class could be launched: Unknown while a part is not looked up."""
    lacking = [c for c in parts if c.status is not Status.TRUE]
    if lacking:
        failed = any(c.status is Status.FALSE for c in lacking)
        problem = ", ".join(f"{c.type}={c.status.value}" for c in lacking)
        return Condition(
            VALIDATED, Status.FALSE if failed else Status.UNKNOWN, "DependenciesNotReady", problem
        )
    return _launchable(VALIDATED, checked, _spoken(checked))


def pool_conditions(
    pool: NodePool,
    node_class: NodeClass | None,
    *,
    aside: ObjectSetAside | None = None,
    checked: NodeClassChecked | None = None,
) -> tuple[Condition, ...] | None:
    """Return the conditions of a pool that is understood; None while nothing is known of its node class.

    `aside` is why the node class is not understood, where it is not; `checked` is what the cloud said of it.
    """
    ready = _node_class_ready(pool, node_class, aside, checked)
    return None if ready is None else with_ready(_valid(pool), ready)


def _node_class_ready(
    pool: NodePool,
    node_class: NodeClass | None,
    aside: ObjectSetAside | None,
    checked: NodeClassChecked | None,
) -> Condition | None:
    ref = pool.node_class
    field = (
        "spec.providerRef" if pool.generation is Generation.V1ALPHA5 else "spec.template.spec.nodeClassRef"
    )
    if aside is not None:
        problem = f"{field}: {ref} is not valid: {aside.problem}"
        return Condition(NODE_CLASS_READY, Status.FALSE, f"{aside.kind.value}ValidationFailed", problem)
    if node_class is None:
        problem = f"{field}: there is no {ref.kind} {ref.name}"
        return Condition(NODE_CLASS_READY, Status.FALSE, _NO_CLASS, problem)
    if node_class.deleting:
        problem = f"{field}: {ref} is being deleted"
        return Condition(NODE_CLASS_READY, Status.FALSE, "NodeClassTerminating", problem)
    return None if checked is None else _launchable(NODE_CLASS_READY, checked, f"{ref}: {_spoken(checked)}")


def _launchable(kind: str, checked: NodeClassChecked, problem: str) -> Condition:
    if not checked.certain:
        return Condition(kind, Status.UNKNOWN, "NodeClassReadinessUnknown", problem)
    if not checked.problem:
        return Condition(kind, Status.TRUE, kind)
    reason = checked.reason or _NOT_FOUND.get(checked.selector, _NOT_READY)
    return Condition(kind, Status.FALSE, reason, problem)


def _spoken(checked: NodeClassChecked) -> str:
    return spoken(checked.key.node_class, checked.problem, checked.selector)


def _part_spoken(ref: NodeClassRef, part: Condition) -> str:
    selector = _SELECTOR_OF.get(part.type, "") if part.status is Status.FALSE else ""
    return spoken(ref, part.message, selector)


def spoken(ref: NodeClassRef, problem: str, selector: str) -> str:
    """Return what is wrong with a node class, with the field where that is its selector of `selector`."""
    own = problem.removeprefix(f"{ref}: ")
    field = selector_field(ref, selector) if own else ""
    return f"{field}: {own}" if field else own


def _valid(pool: NodePool) -> Condition:
    """Return that a pool is valid; the message names its fields that are not acted on."""
    return Condition(VALIDATED, Status.TRUE, VALIDATED, not_followed(pool.not_acted_on))


def with_ready(*dependents: Condition) -> tuple[Condition, ...]:
    """Return the conditions with `Ready`, which is what all of them come to."""
    unhealthy = [c for c in dependents if c.status is not Status.TRUE]
    if not unhealthy:
        return *dependents, Condition(READY, Status.TRUE, READY)
    failed = any(c.status is Status.FALSE for c in unhealthy)
    ready = Condition(
        READY,
        Status.FALSE if failed else Status.UNKNOWN,
        _UNHEALTHY if failed else _RECONCILING,
        ", ".join(f"{c.type}={c.status.value}" for c in unhealthy),
    )
    return *dependents, ready
