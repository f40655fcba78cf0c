"""Claims that are launched together: batches, to be grouped into calls, and groups, each of one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from treenail.domain.launch.launching import Launch, LaunchMark
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.telemetry.tracing import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Claims of one pool, or one claim of no pool, to be grouped into calls together.

    With a `token`, they are all claims of one earlier call, and claims that may have been about to be marked
    for it.
    """

    id: str
    names: tuple[str, ...]
    pool: NodePool
    node_class: NodeClass
    token: str = ""


@dataclass(slots=True, kw_only=True)
class Group:
    """The claims of one call, those that are still to be marked for it, and the spans of its attempts.

    `marks` are what each claim is to say of it.
    """

    launch: Launch
    batch: Batch
    unmarked: dict[str, None]
    marks: Mapping[str, LaunchMark] = field(init=False)
    spans: list[Span] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.marks = self.launch.marks()
