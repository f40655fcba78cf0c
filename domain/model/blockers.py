"""Blockers: what keeps a node where it is, as a value, and the one sentence that each is told in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from typing import Final

from treenail.domain.model import labels
from treenail.domain.model.instants import write_instant


class BlockerKind(StrEnum):
    """The kind of object that keeps a node, or of circumstance where no object does."""

    BUDGET = "Budget"
    CONSOLIDATE_AFTER = "ConsolidateAfter"
    MOVES = "Moves"
    NODE = "Node"
    NODE_POOL = "NodePool"
    POD = "Pod"
    POD_DISRUPTION_BUDGET = "PodDisruptionBudget"
    PRICE = "Price"
    SETTING = "Setting"


_CIRCUMSTANCES: Final = frozenset({BlockerKind.MOVES, BlockerKind.PRICE})

_KIND = BlockerKind
_POD_HELD: Final = "a pod may not be evicted now"
_TAKES: Final = "it takes pods of nodes that go, or that wait"
_CHANGED: Final = "the cluster has changed since the move was planned"
_RECENT: Final = "it replaced another node a short time ago"
_NONE_CHEAPER: Final = "no cheaper node could take its place"
_POLICY: Final = '{detail} "{name}" has consolidation'


class Block(Enum):
    """Ways in which a node is kept: the kind, the sentence, and what nodes kept so have in common.

    The sentence is Karpenter's where it has one. It may name the object (`name`) and say more (`detail`);
    where nodes so kept have nothing in common but the sentence, that is left out.
    """

    # --- the node itself, and its claim
    UNMANAGED = _KIND.NODE, "node isn't managed by karpenter"
    WITHOUT_NODE = _KIND.NODE, "nodeclaim does not have an associated node"
    UNINITIALIZED = _KIND.NODE, "node isn't initialized"
    ENDING = _KIND.NODE, "node is deleting or marked for deletion"
    NOMINATED = _KIND.NODE, "node is nominated for a pending pod"
    LEFT_ALONE = _KIND.NODE, "{detail}"
    STATIC = _KIND.NODE, "its pool is static"
    ANNOTATED = (
        _KIND.NODE,
        'disruption is blocked through the "{detail}" annotation',
        "the node has the annotation do-not-disrupt",
    )
    ZONE_SHIFTED = _KIND.NODE, "its zone {detail} is shifted away from", "their zone is shifted away from"
    UNREAD = _KIND.NODE, "what it is cannot be read {detail}", "what it is cannot be read"
    TYPE_UNKNOWN = _KIND.NODE, 'Instance Type "{detail}" not found'
    LABEL_MISSING = _KIND.NODE, 'Node does not have label "{detail}"'
    EMPTY = _KIND.NODE, "node is empty: it is given back as such, without consolidation"
    RECENT = (
        _KIND.NODE,
        "Replacing it would save {detail} that it was itself bought for a short time ago to save",
        _RECENT,
    )
    RECENT_UNREAD = (
        _KIND.NODE,
        "It may itself have replaced a node a short time ago: what it was bought for is unreadable",
        _RECENT,
    )
    UNDOES = _KIND.NODE, "{detail}: it stays", "it would go for one of those that it came in place of"
    WINDOW = (
        _KIND.CONSOLIDATE_AFTER,
        "pods came or left less than consolidateAfter ({detail}) ago: it stays",
        "pods came or left within consolidateAfter",
    )
    RECEIVERS_WINDOW = (
        _KIND.CONSOLIDATE_AFTER,
        "its pods fit on nodes that pods came to or left less than consolidateAfter ago: it stays until then",
        "its pods wait until other nodes may receive them",
    )

    # --- its pods
    POD_ANNOTATED = (
        _KIND.POD,
        f'pod has "{labels.DO_NOT_DISRUPT}" annotation (Pod={{name}})',
        "a pod has the annotation do-not-disrupt",
    )
    POD_UNREAD = _KIND.POD, "pod cannot be read (Pod={name}): {detail}", "a pod cannot be read"
    POD_UNPLACED = (
        _KIND.POD,
        "not all pods would schedule, {name} => {detail}",
        "a pod fits on no other node",
    )
    POD_BUDGET = (
        _KIND.POD_DISRUPTION_BUDGET,
        "{detail}pdb prevents pod evictions (PodDisruptionBudget=[{name}])",
        _POD_HELD,
    )
    POD_BUDGETS = (
        _KIND.POD_DISRUPTION_BUDGET,
        "eviction does not support multiple PDBs (PodDisruptionBudget(s)=[{name}])",
        _POD_HELD,
    )

    # --- its pool
    POOL_MISSING = _KIND.NODE_POOL, "NodePool not found (NodePool={name})", "the pool is not there"
    POLICY_OFF = _KIND.NODE_POOL, f"{_POLICY} disabled", "the pool has consolidation disabled"
    WHEN_EMPTY = (
        _KIND.NODE_POOL,
        f"{_POLICY} policy WhenEmpty, but node is not empty",
        "the pool's policy is WhenEmpty",
    )
    BALANCED = (
        _KIND.NODE_POOL,
        'NodePool "{name}" has consolidation policy Balanced: the move scores {detail}',
        "Balanced: it saves too little",
    )
    PAYBACK = (
        _KIND.NODE_POOL,
        'NodePool "{name}" wants moves to pay back within {detail}',
        "it would not pay back in the pool's time",
    )
    TERMS_UNKNOWN = (
        _KIND.NODE_POOL,
        'It is not known on which terms nodes of NodePool "{name}" are consolidated',
        "the terms of the pool are not known",
    )
    LIMITS = (
        _KIND.NODE_POOL,
        "limits of NodePool {name} leave no room for a replacement",
        "the pool's limits leave no room for a replacement",
    )
    RESERVATION_USED = (
        _KIND.NODE_POOL,
        "capacity reservation {name} has no room for a replacement beside those of other moves",
        "a capacity reservation has no room for a replacement",
    )
    MIN_VALUES = (
        _KIND.NODE_POOL,
        "Filtering by price: minValues requirement is not met for label(s) {detail}",
        "minValues of the pool rule out what is cheaper",
    )
    BUDGET = (
        _KIND.BUDGET,
        "no allowed disruptions due to blocking budget of {name}",
        "the pool's budget lets no more nodes go now",
    )

    # --- prices and settings
    RETURN_DEAR = (
        _KIND.NODE_POOL,
        "No cheaper node, and a return to higher weight would cost over {detail} more (NodePool {name})",
        "a return to a pool of higher weight costs more than the pool allows",
    )
    RETURN_RECENT = (
        _KIND.NODE,
        "No cheaper node, and it came in place of another too lately to return to a pool of higher weight",
        _RECENT,
    )
    PREFERENCES = (
        _KIND.PRICE,
        "No cheaper node that keeps what pods prefer: it would give up {detail}",
        _NONE_CHEAPER,
    )
    AWAY = (
        _KIND.PRICE,
        "No cheaper node but of NodePool {name}, from which pods return to this pool",
        _NONE_CHEAPER,
    )
    PRICE_UNKNOWN = _KIND.PRICE, "the price of its offering is not known", "its price is not known"
    NONE_CHEAPER = _KIND.PRICE, "Can't replace with a cheaper node", _NONE_CHEAPER
    FEW_CHEAPER = (
        _KIND.PRICE,
        "SpotToSpotConsolidation requires {detail}",
        "too few types are cheaper for spot to replace spot",
    )
    SPOT_TO_SPOT_OFF = (
        _KIND.SETTING,
        "{name} is disabled, can't replace a spot node with a spot node",
        "SpotToSpotConsolidation is not on",
    )

    # --- other moves, and what changed meanwhile
    RECEIVES = _KIND.MOVES, "it takes pods of nodes that go", _TAKES
    RECEIVES_WAITING = _KIND.MOVES, "it takes pods that wait", _TAKES
    CROWDED = _KIND.MOVES, "its pods may take each other's places: a node more would cost what is saved"
    MOVING = _KIND.MOVES, "some of its pods have places on other nodes, or are stopping"
    AFTER_OTHERS = _KIND.MOVES, "it goes after other nodes, which budgets keep for now"
    EARLIER_NOT_MADE = _KIND.MOVES, "a move that it relies on was not made"
    PODS_UNTOLD = _KIND.MOVES, "not all pods of node {name} are known"
    PODS_WAIT = _KIND.MOVES, "pods wait for a decision"
    OTHERS_FIRST = _KIND.MOVES, "there are no places for the pods of all nodes that would go"
    UNDECIDED = (
        _KIND.MOVES,
        "it was not decided where all pods of the node would go, or that does not hold any more",
    )
    CHANGED = _KIND.MOVES, "no longer as it was", _CHANGED
    PODS_CHANGED = _KIND.MOVES, "its pods have changed since the move was planned", _CHANGED
    RECEIVER_CHANGED = _KIND.MOVES, "node {name} has changed since the move was planned", _CHANGED
    TOPOLOGY_CHANGED = (
        _KIND.MOVES,
        "pods that pod {name} is placed by have changed since the move was planned",
        _CHANGED,
    )

    def __init__(self, kind: BlockerKind, sentence: str, group: str = "") -> None:
        self.kind = kind
        self.sentence = sentence
        self.group = group

    def by(
        self,
        name: str = "",
        detail: str = "",
        *,
        until: datetime | None = None,
        score: float | None = None,
    ) -> Blocker:
        """Return the blocker that keeps a node so: see there."""
        return Blocker(self, name, detail, until, score)


@dataclass(frozen=True, slots=True)
class Blocker:
    """A blocker, which keeps a node: the object's `name`, or "" for the node itself; until when, if it ends.

    It ends by itself at `until`, where that is known. `detail` is what else the sentence says, `score` what
    Balanced gave the move, where that is why.
    """

    block: Block
    name: str = ""
    detail: str = ""
    until: datetime | None = None
    score: float | None = None

    @property
    def kind(self) -> BlockerKind:
        """The kind of object that keeps the node, or of circumstance."""
        return self.block.kind

    @property
    def removable(self) -> bool:
        """True if there is something that could be removed or changed for the node to go."""
        return self.kind not in _CIRCUMSTANCES and self.block is not Block.UNMANAGED

    @property
    def sentence(self) -> str:
        """The reason why the node stays, for people."""
        until = f" until {write_instant(self.until)}" if self.until is not None else ""
        return self.block.sentence.format(name=self.name, detail=self.detail) + until

    @property
    def group(self) -> str:
        """The reason without what differs between nodes, to group the nodes that are kept for it."""
        return self.block.group or self.sentence
