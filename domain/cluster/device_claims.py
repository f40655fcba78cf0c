"""Nodes that a pod's resource claims leave it: those from which the devices allocated to them can be used.

Claims with devices say that. Those without ask for some, which are counted (`device_counts`). A pod that
moves is refused: its claims may be made or allocated anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.cluster.storage_book import StorageBook
from treenail.domain.model.devices import DeviceWishes, ResourceClaimTemplate
from treenail.domain.model.pods import Expression, Pod, PodResourceClaim
from treenail.domain.model.requirements import ANYTHING, Operator, Requirements
from treenail.domain.model.resource_claims import MOST_USERS, ResourceClaim

Alternatives: TypeAlias = tuple[Requirements, ...]

_ANY: Final[Alternatives] = (ANYTHING,)


class UnclearError(Exception):
    """Nothing is known of the nodes that a claim leaves, or of what it asks for; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenClaim:
    """A claim without devices: what names it in the cluster, its name in the pod, what it asks for."""

    key: str
    name: str
    wishes: DeviceWishes


def device_nodes(
    pod: Pod,
    book: StorageBook,
    meet: Callable[[tuple[Alternatives, ...]], Alternatives],
    *,
    counted: bool = False,
) -> tuple[Alternatives, str]:
    """Return the nodes that the resource claims of a waiting pod leave it, and why no node would do, if so.

    `meet` gives the alternatives that several sets of alternatives have in common. A claim without devices
    leaves every node where the devices it asks for are `counted`, and none otherwise.
    """
    names = ", ".join(claim.name for claim in pod.spec.resource_claims)
    if not book.follows_claims:
        unless = "unless IGNORE_DRA_REQUESTS is false"
        return _ANY, f"it has the resource claim {names}: nodes are not chosen by such claims {unless}"
    if pod.node_name:
        return _ANY, f"it has the resource claim {names}, whose devices may be others when the pod moves"
    try:
        found = meet(
            tuple(_nodes_of(pod, asked, book, counted=counted) for asked in pod.spec.resource_claims)
        )
    except UnclearError as problem:
        return _ANY, str(problem)
    return (found, "") if found else (_ANY, f"no node has the devices of all its resource claims: {names}")


def open_claims(pod: Pod, book: StorageBook) -> tuple[OpenClaim, ...]:
    """Return the claims of a pod that have no devices yet, with what they ask for.

    Raises:
        UnclearError: that is not known, or no pod can use the claim.
    """
    found = (_open(pod, asked, book) for asked in pod.spec.resource_claims)
    return tuple(one for one in found if one is not None)


def _open(pod: Pod, asked: PodResourceClaim, book: StorageBook) -> OpenClaim | None:
    claim = _claim(pod, asked, book)
    match claim:
        case None:
            return None
        case ResourceClaimTemplate():
            return OpenClaim(key=f"{pod.uid}/{asked.name}", name=asked.name, wishes=claim.wishes)
        case ResourceClaim():
            if claim.allocated:
                return None
            return OpenClaim(key=claim.key, name=asked.name, wishes=claim.wishes)


def _nodes_of(pod: Pod, asked: PodResourceClaim, book: StorageBook, *, counted: bool) -> Alternatives:
    claim = _claim(pod, asked, book)
    if claim is None:
        return _ANY  # nothing is to be claimed for this pod
    if isinstance(claim, ResourceClaimTemplate) or not claim.allocated:
        if counted:
            return _ANY
        raise UnclearError(f"its resource claim {asked.name} has no devices yet, and none are counted for it")
    return tuple(dict.fromkeys(_requirements(term, claim.key) for term in claim.nodes)) or _ANY


def _claim(
    pod: Pod, asked: PodResourceClaim, book: StorageBook
) -> ResourceClaim | ResourceClaimTemplate | None:
    """Return a claim of a pod, or what it will be made from; None where nothing is to be claimed."""
    name = asked.claim_name
    if not name:
        made = dict(pod.claims_made)
        if asked.name not in made:
            return _template(f"{pod.namespace}/{asked.template}", book)
        name = made[asked.name]
        if not name:
            return None
    key = f"{pod.namespace}/{name}"
    claim = book.resource_claims.get(key)
    # What was last understood of a claim is no proof of where its devices are now.
    if claim is None or book.problem(Kind.RESOURCE_CLAIM, key):
        raise UnclearError(unknown(Kind.RESOURCE_CLAIM, key, book))
    unusable = _unusable(pod, asked, claim)
    if unusable:
        raise UnclearError(f"the ResourceClaim {key} {unusable}")
    return claim


def _template(key: str, book: StorageBook) -> ResourceClaimTemplate:
    template = book.devices.templates.get(key)
    if template is None or book.problem(Kind.RESOURCE_CLAIM_TEMPLATE, key):
        raise UnclearError(unknown(Kind.RESOURCE_CLAIM_TEMPLATE, key, book))
    return template


def unknown(kind: Kind, key: str, book: StorageBook) -> str:
    """Return why nothing is known of an object that claims depend on."""
    unread = book.problem(kind, key)
    if unread:
        return f"the {kind.value} {key} cannot be read: {unread}"
    if kind in book.unreadable:
        return f"what its resource claims need is not known, as no {kind.value} can be read"
    return f"the {kind.value} {key} is not there"


def _unusable(pod: Pod, asked: PodResourceClaim, claim: ResourceClaim) -> str:
    """Return why a pod cannot use a claim as it is, "" where it can."""
    if claim.deleting:
        return "is being deleted"
    if (asked.template or claim.made_for) and claim.made_for != pod.uid:
        return "was made for another pod"
    if claim.allocated and not claim.users:
        return "has devices that nobody uses: they are about to be released"
    if pod.uid not in claim.users and len(claim.users) >= MOST_USERS:
        return f"is in use by {MOST_USERS} already, the most there may be"
    return ""


def _requirements(term: tuple[Expression, ...], key: str) -> Requirements:
    read = [expression.requirement() for expression in term]
    # Demands of the pod on the same label are merged with these, which keeps the meaning of lists alone.
    listing = all(expression.operator is Operator.IN for expression in term)
    if not listing or len({requirement.key for requirement in read}) < len(read):
        raise UnclearError(f"the devices of the ResourceClaim {key} are on nodes by a rule not known here")
    return Requirements(read)
