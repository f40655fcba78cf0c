"""Changes of the cluster model, and the messages that pass them on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from treenail.domain.cluster.promises import Promise
from treenail.domain.cluster.refused_pods import Help
from treenail.domain.model.left_alone import LeftAlone
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Pod


@dataclass(slots=True)
class Changes:
    """The changes by a fact, for those who must hear of it. Names in the order they changed.

    `retry_refused` are the kinds of changes among them that could give refused pods a place, `crowded_out`
    the uids of pods whose room on a node that was bought for them others took, and `to_come_ended` the
    promises to pods to come that are over, by their decision: whether a pod came. `displaced` are the uids of
    the workloads that are to make pods whose room others took.
    """

    pods: dict[str, None] = field(default_factory=dict)
    views: dict[str, None] = field(default_factory=dict)
    bound: list[PodBound] = field(default_factory=list)
    pools: bool = False
    buffers: bool = False
    retry_refused: set[Help] = field(default_factory=set)
    crowded_out: list[str] = field(default_factory=list)
    to_come_ended: list[tuple[str, bool]] = field(default_factory=list)
    displaced: dict[str, None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.pods or self.views or self.bound or self.pools or self.retry_refused or self.buffers)


@dataclass(frozen=True, slots=True, kw_only=True)
class PodChanged:
    """A pod started or ceased to wait for a place. `pod` is None where it is gone.

    It is not to be asked for before `not_before`, where that is set. `wished` is how many pods of its
    owner are planned with it, those to come and this one included; 0 where more may come than are known of.
    """

    uid: str
    pod: Pod | None
    waiting: bool
    not_before: datetime | None = None
    wished: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChanged:
    """A node view has changed, or (None) is gone.

    `pods` are the pods on a node that is `going`; `decisions` are those that found other places for them,
    `places` say whether these are ready, and `volumes` name their persistent volumes, both by uid of the pod.
    For other nodes these are empty. `promised` are the pods with a promise of a place on a launched node that
    is not registered, for early binding. `pool` and `node_class` are set for a claim that waits for its
    launch, where they exist. `left_alone` says why its node is not given up by choice.
    """

    name: str
    view: NodeView | None
    going: bool = False
    pods: tuple[Pod, ...] = ()
    decisions: tuple[str, ...] = ()
    places: Mapping[str, bool] = field(default_factory=dict)
    volumes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    promised: tuple[Pod, ...] = ()
    pool: NodePool | None = None
    node_class: NodeClass | None = None
    left_alone: LeftAlone | None = None

    @property
    def untouched(self) -> bool:
        """The node is left alone entirely: nothing is written on it or on its machine."""
        return self.left_alone is not None and self.left_alone.entirely


@dataclass(frozen=True, slots=True, kw_only=True)
class TryAgain:
    """Pods that were refused are to be decided on again, and those that were left undecided.

    Where other things may be bought than before, a refusal `afresh` is news.
    """

    uids: tuple[str, ...] = ()
    afresh: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PodBound:
    """A pod has a node. `promise` is the one it had, if any.

    `news` is false where it had the node already when it was first heard of.
    """

    pod: Pod
    view: NodeView
    promise: Promise | None
    news: bool = True
