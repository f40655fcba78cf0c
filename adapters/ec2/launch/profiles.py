"""Instance profiles of node classes: named by the class, or made from its role."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from datetime import timedelta
from threading import Lock
from typing import Final

from cachetools import TTLCache

from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.launch.iam import Iam, StoredProfile
from treenail.domain.model.errors import AlreadyExistsError, NodeClassNotReadyError
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.runtime import Clock
from treenail.domain.status.managed_profiles import (
    profile_name,
    profile_path,
    profile_tags,
    profiles_path,
    role_name,
)

# A profile is assumed to be as it was found for so long; a change by hand takes effect after that.
_KNOWN_SECONDS: Final = 900.0
# A role that is not there is about to be made.
_NO_ROLE_SECONDS: Final = 60.0
# Instances that were launched with a profile may not be listed yet, nor the class that wants it known.
_PROTECTED: Final = timedelta(hours=1)
_MOST_KEPT: Final = 1024


class Profiles:
    """Knows the profile of each node class, and makes those that are wanted. Threads may share it.

    `default` is for node classes that name neither a profile nor a role. Where the account is `isolated`,
    IAM is out of reach: profiles must be named.
    """

    def __init__(
        self, aws: Aws, clock: Clock, *, cluster: str, default: str = "", isolated: bool = False
    ) -> None:
        self._iam = Iam(aws)
        self._clock = clock
        self._cluster = cluster
        self._region = aws.clients.region
        self._default = default
        self._isolated = isolated
        self._lock = Lock()
        # One change in IAM at a time; a class that has its profile does not wait for it.
        self._changing = Lock()
        self._made: TTLCache[str, None] = TTLCache(_MOST_KEPT, _KNOWN_SECONDS, timer=clock.monotonic)
        self._no_role: TTLCache[str, None] = TTLCache(_MOST_KEPT, _NO_ROLE_SECONDS, timer=clock.monotonic)
        self._needed: TTLCache[str, None] = TTLCache(
            _MOST_KEPT, _PROTECTED.total_seconds(), timer=clock.monotonic
        )

    def of(self, node_class: NodeClass) -> str:
        """Return the name of a node class's profile: its own, that of its role, or else that of the settings.

        Raises:
            NodeClassNotReadyError: there is none, or its role is not there.
            PortError: IAM does not tell, or does not let us make one.
        """
        if node_class.instance_profile:
            return node_class.instance_profile
        if node_class.role:
            return self._managed(node_class)
        if not self._default:
            problem = f"{node_class.ref}: it names no role and no instance profile, and no setting does"
            raise NodeClassNotReadyError(problem, reason="InstanceProfileNotFound")
        return self._default

    def release(self, node_class: NodeClass) -> None:
        """Delete the profiles that were made for a node class, whatever its role was.

        Raises:
            PortError: IAM does not let us, or does not answer.
        """
        if self._isolated or not node_class.uid:
            return
        with self._changing:
            for profile in self._iam.below(profile_path(self._cluster, self._region, node_class)):
                self._delete(profile)

    def collect(self, node_classes: Collection[NodeClass], borne: Collection[str]) -> tuple[str, ...]:
        """Delete this cluster's profiles that are not needed, and return their names, sorted.

        `borne` are those that instances bear. What was made or needed within the last hour stays.

        Raises:
            PortError: IAM does not let us, or does not answer.
        """
        if self._isolated:
            return ()
        wanted = {profile_name(self._cluster, self._region, one) for one in node_classes if one.role}
        with self._changing:
            with self._lock:
                kept = {*wanted, *borne, *self._needed}
            long_ago = self._clock.now() - _PROTECTED
            there = self._iam.below(profiles_path(self._cluster, self._region))
            stray = [one for one in there if one.name not in kept and one.created_at <= long_ago]
            for profile in sorted(stray, key=lambda one: one.name):
                self._delete(profile)
        return tuple(sorted(one.name for one in stray))

    def _managed(self, node_class: NodeClass) -> str:
        name = profile_name(self._cluster, self._region, node_class)
        if self._isolated:
            problem = "spec.role: IAM is out of reach of an isolated VPC: name an instanceProfile instead"
            raise NodeClassNotReadyError(f"{node_class.ref}: {problem}", reason="InstanceProfileNotFound")
        if not self._use(name):
            with self._changing:
                if not self._use(name):
                    self._make(name, node_class)
                    with self._lock:
                        self._made[name] = None
        return name

    def _use(self, name: str) -> bool:
        """Note that a profile is needed, and tell whether it is there."""
        with self._lock:
            self._needed[name] = None
            return name in self._made

    def _delete(self, profile: StoredProfile) -> None:
        with self._lock:
            self._made.pop(profile.name, None)
        self._iam.delete(profile)

    def _make(self, name: str, node_class: NodeClass) -> None:
        """Have the profile there, bearing the role of the node class and no other."""
        role = role_name(node_class)
        problem = f"{node_class.ref}: spec.role: there is no role {role} in IAM"
        if name in self._no_role:
            raise NodeClassNotReadyError(problem, reason="RoleNotFound")
        known = self._iam.get(name)
        if known is None:
            path = profile_path(self._cluster, self._region, node_class)
            tags = profile_tags(self._cluster, self._region, node_class)
            with contextlib.suppress(AlreadyExistsError):  # by its name it is this very one
                self._iam.create(name, path=path, tags=tags)
        borne = known.roles if known is not None else ()
        for other in borne:
            if other != role:
                self._iam.remove_role(name, other)
        if role not in borne and not self._iam.add_role(name, role):
            self._no_role[name] = None
            raise NodeClassNotReadyError(problem, reason="RoleNotFound")
