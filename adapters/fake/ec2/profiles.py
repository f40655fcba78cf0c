"""IAM, the part that instances need: roles, and instance profiles made from them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

from treenail.domain.model.errors import NodeClassNotReadyError
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.runtime import Clock
from treenail.domain.status.managed_profiles import profile_name, role_name

_PROTECTED_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceProfile:
    """A profile made from a role; `needed_at` is the monotonic second a node class last needed it."""

    name: str
    role: str
    node_class_uid: str
    needed_at: float


class InstanceProfiles:
    """The managed profiles of one cluster. Without `roles`, every role there is asked for is there."""

    def __init__(self, clock: Clock, *, cluster: str, region: str, roles: Iterable[str] | None) -> None:
        self._clock = clock
        self._cluster = cluster
        self._region = region
        self._roles = None if roles is None else dict.fromkeys(roles)
        self._deleted: dict[str, None] = {}
        self._made: dict[str, InstanceProfile] = {}

    @property
    def all(self) -> tuple[InstanceProfile, ...]:
        """The profiles there are, by name."""
        return tuple(self._made[name] for name in sorted(self._made))

    def add_role(self, name: str) -> None:
        """Have a role there."""
        self._deleted.pop(name, None)
        if self._roles is not None:
            self._roles[name] = None

    def delete_role(self, name: str) -> None:
        """Have a role there no more."""
        self._deleted[name] = None

    def name_of(self, node_class: NodeClass) -> str:
        """Return the name of a node class's profile, whether it is there or not."""
        managed = profile_name(self._cluster, self._region, node_class)
        return managed if node_class.role else node_class.instance_profile

    def of(self, node_class: NodeClass) -> str:
        """Return the name of a node class's profile, made where it wants one that is not there.

        Raises:
            NodeClassNotReadyError: its role is not there.
        """
        if not node_class.role:
            return node_class.instance_profile
        name, role = self.name_of(node_class), role_name(node_class)
        if role in self._deleted or (self._roles is not None and role not in self._roles):
            problem = f"{node_class.ref}: spec.role: there is no role {role} in IAM"
            raise NodeClassNotReadyError(problem, reason="RoleNotFound")
        now = self._clock.monotonic()
        known = self._made.get(name)
        self._made[name] = (
            InstanceProfile(name=name, role=role, node_class_uid=node_class.uid, needed_at=now)
            if known is None
            else replace(known, needed_at=now)
        )
        return name

    def release(self, node_class: NodeClass) -> None:
        """Delete the profiles made for a node class, whatever its role was."""
        self._delete(lambda one: one.node_class_uid == node_class.uid)

    def collect(self, node_classes: Collection[NodeClass], borne: Collection[str]) -> tuple[str, ...]:
        """Delete profiles that are not needed; `borne` are those of instances. Return their names, sorted."""
        needed = {self.name_of(one) for one in node_classes}
        long_ago = self._clock.monotonic() - _PROTECTED_SECONDS
        return self._delete(
            lambda one: one.name not in needed and one.name not in borne and one.needed_at <= long_ago
        )

    def _delete(self, obsolete: Callable[[InstanceProfile], bool]) -> tuple[str, ...]:
        names = tuple(one.name for one in self.all if obsolete(one))
        for name in names:
            del self._made[name]
        return names
