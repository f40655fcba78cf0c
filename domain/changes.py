"""What a fact or a decision changed in the model of the cluster."""

from __future__ import annotations

from dataclasses import dataclass, field

from treenail.domain.watching import PodBound


@dataclass(slots=True)
class Changes:
    """What a fact changed, for those who must hear of it. Names in the order they changed.

    `hope` tells that pods refused before may be lucky now.
    """

    pods: dict[str, None] = field(default_factory=dict)
    views: dict[str, None] = field(default_factory=dict)
    bound: list[PodBound] = field(default_factory=list)
    pools: bool = False
    hope: bool = False

    def __bool__(self) -> bool:
        return bool(self.pods or self.views or self.bound or self.pools or self.hope)
