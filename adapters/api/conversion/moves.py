"""Paths of fields before and after a conversion, so that comments and YAML style move with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Moves:
    """Moves of paths by their longest known prefix. None removes the field from the object.

    Paths without a known prefix stay if `others_stay`, else they are removed too.
    """

    to: Mapping[Path, Path | None]
    others_stay: bool = True

    def of(self, path: Path) -> Path | None:
        """Return where `path` is now."""
        for n in range(len(path), -1, -1):
            if path[:n] in self.to:
                target = self.to[path[:n]]
                return None if target is None else target + path[n:]
        return path if self.others_stay else None


def moved(path: Path, steps: Sequence[Moves]) -> Path | None:
    """Return where `path` is after `steps`, None where it is in this object no more."""
    at: Path | None = path
    for step in steps:
        if at is None:
            return None
        at = step.of(at)
    return at


def _path(text: str) -> Path:
    return tuple(text.split("."))


def _moves(to: Mapping[str, str | None], *, others_stay: bool = True) -> Moves:
    return Moves({_path(a): None if b is None else _path(b) for a, b in to.items()}, others_stay)


_SELECTORS: Final = {f"{name}Selector": f"{name}SelectorTerms" for name in ("ami", "subnet", "securityGroup")}
STAYING: Final = Moves({})
PROVISIONER_TO_POOL: Final = _moves(
    {
        "spec.labels": "spec.template.metadata.labels",
        "spec.annotations": "spec.template.metadata.annotations",
        "spec.requirements": "spec.template.spec.requirements",
        "spec.taints": "spec.template.spec.taints",
        "spec.startupTaints": "spec.template.spec.startupTaints",
        "spec.kubeletConfiguration": "spec.template.spec.kubelet",
        "spec.providerRef": "spec.template.spec.nodeClassRef",
        "spec.provider": None,
        "spec.limits.resources": "spec.limits",
        "spec.ttlSecondsAfterEmpty": "spec.disruption.consolidateAfter",
        "spec.ttlSecondsUntilExpired": "spec.disruption.expireAfter",
        "spec.consolidation.enabled": "spec.disruption.consolidationPolicy",
        "spec.consolidation": "spec.disruption.consolidationPolicy",
    }
)
PROVIDER_TO_CLASS: Final = _moves(
    {
        "spec.provider": "spec",
        **{f"spec.provider.{old}": f"spec.{new}" for old, new in _SELECTORS.items()},
    },
    others_stay=False,
)
TEMPLATE_TO_CLASS: Final = _moves({f"spec.{old}": f"spec.{new}" for old, new in _SELECTORS.items()})
POOL_TO_V1: Final = _moves({"spec.disruption.expireAfter": "spec.template.spec.expireAfter"})
POOL_TO_V1BETA1: Final = _moves({"spec.template.spec.expireAfter": "spec.disruption.expireAfter"})
CLASS_TO_V1: Final = STAYING
# Where the kubelet's settings of a pool go into its node class: what the pool loses, and what the class gets.
KUBELET_FROM_POOL: Final = _moves({"spec.template.spec.kubelet": None})
KUBELET_TO_CLASS: Final = _moves({"spec.template.spec.kubelet": "spec.kubelet"}, others_stay=False)
