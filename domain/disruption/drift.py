"""Drift: differences between a node and what its pool and its node class would make today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Final

from treenail.domain.cluster.cluster_facts import says_the_same
from treenail.domain.disruption.surveys import InstancesSurveyed
from treenail.domain.model import labels
from treenail.domain.model.node_class_status import ImageMeant, NodeClassMeaning
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import DRIFTED, Condition, NodeClaim, Status, condition_of
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.model.placement_groups import PlacementGroupRef
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.model.template_hash import (
    HASH_VERSION,
    NODE_CLASS_HASH,
    NODEPOOL_HASH,
    PROVISIONER_HASH,
    stamps,
    version_of,
)

# What was bought within this time was sold: a catalogue that says otherwise may be older than it.
_SETTLED: Final = timedelta(hours=1)
_POOL_DRIFT: Final = "NodePoolDrifted"
_CLASS_DRIFT: Final = "NodeClassDrift"
_NOTHING_KNOWN: Final = NodeClassMeaning()


@dataclass(frozen=True)
class Standard:
    """The standard that claims of a pool are held against, as far as it is known.

    That is the pool, its node class, what that means, and how instances were found to be.
    """

    pool: NodePool
    node_class: NodeClass | None = None
    meaning: NodeClassMeaning = _NOTHING_KNOWN
    survey: InstancesSurveyed | None = None

    @cached_property
    def _hashes(self) -> Mapping[str, str]:
        made = stamps(self.pool, self.node_class)
        return {key: made[key] for key in (NODEPOOL_HASH, PROVISIONER_HASH, NODE_CLASS_HASH) if key in made}

    def asks_the_same(self, other: Standard) -> bool:
        """Return whether pool and node class say the same as in `other`, but for their revision."""
        known, of_other = self.node_class, other.node_class
        alike = known is of_other or (known is not None and says_the_same(known, of_other))
        return alike and says_the_same(self.pool, other.pool)

    def drift(self, claim: NodeClaim) -> str | None:
        """Return why a claim drifted, the first reason as Karpenter names it; None where it did not."""
        known, wanted = claim.labels, self.pool.requirements.values()
        differ = [key for key in self._hashes if not self._alike(claim, key)]
        if any(key != NODE_CLASS_HASH for key in differ):
            return _POOL_DRIFT
        if not all(_met(one, known) or _untold(one, known) for one in wanted):
            return "RequirementsDrifted"
        if differ:
            return _CLASS_DRIFT
        image = self._image(claim)
        if image is not None and claim.image_id and claim.image_id != image.id:
            return "AMIDrift"
        return self._astray(claim)

    def _astray(self, claim: NodeClaim) -> str | None:
        """Return what is wrong with where a claim's instance was found to be, None where nothing is.

        What nobody could tell, of the instance or of the class, is not wrong.
        """
        instance = self.survey.instances.get(claim.instance_id) if self.survey is not None else None
        if self.survey is None or instance is None:
            return None
        groups = tuple(sorted(group.id for group in self.meaning.security_groups))
        if groups and instance.security_groups and instance.security_groups != groups:
            return "SecurityGroupDrift"
        subnets = self.meaning.subnets
        if subnets and instance.subnet_id and all(instance.subnet_id != one.id for one in subnets):
            return "SubnetDrift"
        if instance.reservation and self._unselected(instance.reservation):
            return "CapacityReservationDrift"
        if self._misplaced(instance.placement_group):
            return "PlacementGroupDrift"
        # Last, as a type is not sold either where the class has no subnet or no image for it any more.
        settled = self.survey.surveyed_at - claim.created_at >= _SETTLED
        if settled and not self.survey.still_sold(instance):
            return "InstanceTypeNotFound"
        return None

    def _unselected(self, reservation: str) -> bool:
        """Return whether the class surely does not select a reservation."""
        selected = {one.reservation.id for one in self.meaning.reservations}
        if self.node_class is None or reservation in selected:
            return False
        return bool(selected) or not self.node_class.reservation_terms

    def _misplaced(self, group: PlacementGroupRef) -> bool:
        """Return whether an instance in `group` surely is not in the one that the class names.

        A launch template of the user's may name one that nobody here knows of.
        """
        if self.node_class is None or self.node_class.launch_template:
            return False
        if self.node_class.placement_group is None:
            return bool(group)
        wanted = self.meaning.placement_group
        return bool(wanted) and not group.same(wanted)

    def _alike(self, claim: NodeClaim, key: str) -> bool:
        """Return whether a claim has the present hash, or one of another version, which does not compare.

        A claim that drifted by a hash of another version stays drifted: nobody can tell that it did not.
        """
        if claim.annotations.get(version_of(key)) != HASH_VERSION:
            return not _drifted_by(claim, key)
        return claim.annotations.get(key) == self._hashes[key]

    def _image(self, claim: NodeClaim) -> ImageMeant | None:
        """Return the image that a node of the claim's type would run today, None where nobody can tell."""
        return next((image for image in self.meaning.images if _runs(image, claim)), None)

    def note(self, claim: NodeClaim, why: str | None) -> ClaimPatch | None:
        """Return the patch for a claim that drifted because of `why`, None where nothing changes.

        A claim with hashes that do not compare gets the present ones: it is assumed not to have drifted. If
        it had drifted by such a hash, it keeps that hash, as one of our version, which no pool will ever
        have.
        """
        shown = condition_of(claim.conditions, DRIFTED)
        conditions: tuple[Condition, ...] = ()
        if why is not None and (shown is None or (shown.status, shown.reason) != (Status.TRUE, why)):
            conditions = (Condition(DRIFTED, Status.TRUE, why),)
        # Taken off, not set to False: a claim whose hash is of another version is drifted for Karpenter where
        # it bears the condition at all.
        over = (DRIFTED,) if why is None and shown is not None else ()
        lacking = {
            name: value
            for key, text in self._hashes.items()
            if claim.annotations.get(version_of(key)) != HASH_VERSION
            for name, value in ((key, text), (version_of(key), HASH_VERSION))
            if name != key or not _drifted_by(claim, key)
        }
        if not (lacking or conditions or over):
            return None
        return ClaimPatch(annotations=lacking, conditions=conditions, remove_conditions=over)


def _drifted_by(claim: NodeClaim, key: str) -> bool:
    """Return whether a claim says that it drifted by the hash `key`."""
    shown = condition_of(claim.conditions, DRIFTED)
    reason = _CLASS_DRIFT if key == NODE_CLASS_HASH else _POOL_DRIFT
    return shown is not None and (shown.status, shown.reason) == (Status.TRUE, reason)


def _met(requirement: Requirement, known: Mapping[str, str]) -> bool:
    value = known.get(requirement.key)
    if value is not None:
        return requirement.has(value)
    return requirement.operator in (Operator.NOT_IN, Operator.DOES_NOT_EXIST)


def _untold(requirement: Requirement, known: Mapping[str, str]) -> bool:
    """Return whether nothing is known of a label that all agree on: launches need not tell it."""
    return requirement.key in labels.WELL_KNOWN and requirement.key not in known


def _runs(image: ImageMeant, claim: NodeClaim) -> bool:
    return all(_met(requirement, claim.labels) for requirement in image.requirements)
