"""Nodes that a pod's resource claims leave it: those from which the devices allocated to them can be used.

Only claims with devices say that. Which devices a claim would get is the scheduler's to choose, so a pod with
a claim that has none is refused. So is a pod that moves: its claims may be made or allocated anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.cluster.storage_book import StorageBook
from treenail.domain.model.pods import Expression, Pod, PodResourceClaim
from treenail.domain.model.requirements import ANYTHING, Operator, Requirements
from treenail.domain.model.resource_claims import MOST_USERS, ResourceClaim

Alternatives: TypeAlias = tuple[Requirements, ...]

_ANY: Final[Alternatives] = (ANYTHING,)


class _UnclearError(Exception):
    """Nothing is known of the nodes that a claim leaves; the message says why."""


def device_nodes(
    pod: Pod, book: StorageBook, meet: Callable[[tuple[Alternatives, ...]], Alternatives]
) -> tuple[Alternatives, str]:
    """Return the nodes that the resource claims of a waiting pod leave it, and why no node would do, if so.

    `meet` gives the alternatives that several sets of alternatives have in common.
    """
    names = ", ".join(claim.name for claim in pod.spec.resource_claims)
    if not book.follows_claims:
        return _ANY, f"it has the resource claim {names}: nodes are not chosen by such claims"
    if pod.node_name:
        return _ANY, f"it has the resource claim {names}, whose devices may be others when the pod moves"
    try:
        found = meet(tuple(_nodes_of(pod, claim, book) for claim in pod.spec.resource_claims))
    except _UnclearError as problem:
        return _ANY, str(problem)
    return (found, "") if found else (_ANY, f"no node has the devices of all its resource claims: {names}")


def _nodes_of(pod: Pod, asked: PodResourceClaim, book: StorageBook) -> Alternatives:
    name = asked.claim_name
    if not name:
        made = dict(pod.claims_made)
        if asked.name not in made:
            raise _UnclearError(
                f"its resource claim {asked.name} is still to be made from the template {asked.template}"
            )
        name = made[asked.name]
        if not name:
            return _ANY  # nothing is to be claimed for this pod
    key = f"{pod.namespace}/{name}"
    claim = book.resource_claims.get(key)
    # What was last understood of a claim is no proof of where its devices are now.
    if claim is None or book.problem(Kind.RESOURCE_CLAIM, key):
        raise _UnclearError(_unknown(key, book))
    unusable = _unusable(pod, asked, claim)
    if unusable:
        raise _UnclearError(f"the ResourceClaim {key} {unusable}")
    return tuple(dict.fromkeys(_requirements(term, key) for term in claim.nodes)) or _ANY


def _unknown(key: str, book: StorageBook) -> str:
    unread = book.problem(Kind.RESOURCE_CLAIM, key)
    if unread:
        return f"the ResourceClaim {key} cannot be read: {unread}"
    if Kind.RESOURCE_CLAIM in book.unreadable:
        return "what its resource claims need is not known, as no ResourceClaim can be read"
    return f"the ResourceClaim {key} is not there"


def _unusable(pod: Pod, asked: PodResourceClaim, claim: ResourceClaim) -> str:
    """Return why a pod cannot use a claim as it is, "" where it can."""
    if claim.deleting:
        return "is being deleted"
    if (asked.template or claim.made_for) and claim.made_for != pod.uid:
        return "was made for another pod"
    if not claim.allocated:
        return "has no devices yet, and no node is chosen for it"
    if not claim.users:
        return "has devices that nobody uses: they are about to be released"
    if pod.uid not in claim.users and len(claim.users) >= MOST_USERS:
        return f"is in use by {MOST_USERS} already, the most there may be"
    return ""


def _requirements(term: tuple[Expression, ...], key: str) -> Requirements:
    read = [expression.requirement() for expression in term]
    # Demands of the pod on the same label are merged with these, which keeps the meaning of lists alone.
    listing = all(expression.operator is Operator.IN for expression in term)
    if not listing or len({requirement.key for requirement in read}) < len(read):
        raise _UnclearError(f"the devices of the ResourceClaim {key} are on nodes by a rule not known here")
    return Requirements(read)
