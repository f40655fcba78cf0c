"""EC2's limits on calls: token buckets by API, and of resources for some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NoReturn

from treenail.adapters.fake.ec2.settings import EC2Settings
from treenail.domain.model.errors import InvalidError, TooManyRequestsError
from treenail.domain.model.runtime import Agenda

CREATE_FLEET: Final = "CreateFleet"
CREATE_LAUNCH_TEMPLATE: Final = "CreateLaunchTemplate"
CREATE_TAGS: Final = "CreateTags"
DESCRIBE_INSTANCES: Final = "DescribeInstances"
DESCRIBE_INSTANCE_TYPES: Final = "DescribeInstanceTypes"
TERMINATE_INSTANCES: Final = "TerminateInstances"
DELETE_INSTANCE_PROFILE: Final = "DeleteInstanceProfile"
_RUN_INSTANCES: Final = "RunInstances"

# Most tokens, and tokens per second. What a call asks for at most is what its bucket holds at most.
_REQUESTS: Final[Mapping[str, tuple[float, float]]] = {
    CREATE_FLEET: (50, 5),
    CREATE_LAUNCH_TEMPLATE: (50, 5),
    CREATE_TAGS: (100, 10),
    DESCRIBE_INSTANCES: (100, 20),
    DESCRIBE_INSTANCE_TYPES: (100, 20),
    TERMINATE_INSTANCES: (100, 5),
    "DescribeCapacityReservations": (100, 20),
    "DescribeImages": (100, 20),
    "DescribeInstanceStatus": (100, 20),
    "DescribePlacementGroups": (100, 20),
    "DescribeSecurityGroups": (100, 20),
    "DescribeSubnets": (100, 20),
    "GetInstanceProfile": (100, 20),
    DELETE_INSTANCE_PROFILE: (100, 5),
}
_RESOURCES: Final[Mapping[str, tuple[float, float]]] = {
    TERMINATE_INSTANCES: (1000, 20),
    _RUN_INSTANCES: (1000, 2),
}


class TokenBucket:
    """Tokens that come back with time, up to a limit."""

    def __init__(self, most: float, per_second: float) -> None:
        self.most = most
        self._per_second = per_second
        self._left = most
        self._at = 0.0

    def left(self, now: float) -> float:
        """Return the tokens there are at monotonic second `now`."""
        self._left = min(self.most, self._left + (now - self._at) * self._per_second)
        self._at = now
        return self._left

    def take(self, amount: float, now: float) -> None:
        """Take tokens, which must be there."""
        self._left = self.left(now) - amount


class Throttle:
    """Counts every call, and refuses those over the limits."""

    def __init__(self, agenda: Agenda, settings: EC2Settings) -> None:
        self._agenda = agenda
        self._enabled = settings.throttled
        self._launches = settings.launches_throttled
        self._requests = {api: TokenBucket(*limit) for api, limit in _REQUESTS.items()}
        self._resources = {api: TokenBucket(*limit) for api, limit in _RESOURCES.items()}
        self._calls: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()

    @property
    def calls(self) -> Mapping[str, int]:
        """How often each API was called, refused calls included."""
        return MappingProxyType(self._calls)

    @property
    def refused(self) -> Mapping[str, int]:
        """How often each API refused a call as one too many."""
        return MappingProxyType(self._refused)

    def note(self, api: str) -> None:
        """Count a call."""
        self._calls[api] += 1

    def admit(self, api: str, resources: int) -> None:
        """Let a call on so many resources pass.

        Raises:
            TooManyRequestsError: it is over a limit; no tokens are taken.
            InvalidError: it is on more resources than any call may be on.
        """
        if not self._enabled:
            return
        now = self._agenda.monotonic()
        request, pool = self._requests[api], self._pool(api)
        if pool is not None and resources > pool.most:
            raise InvalidError(f"{api}: {resources} are more than one request may be for ({pool.most:g})")
        if request.left(now) < 1 or (pool is not None and pool.left(now) < resources):
            self.refuse(api)
        request.take(1, now)
        if pool is not None:
            pool.take(resources, now)

    def refuse(self, api: str) -> NoReturn:
        """Refuse a call as one too many.

        Raises:
            TooManyRequestsError: always.
        """
        self._refused[api] += 1
        raise TooManyRequestsError(f"RequestLimitExceeded: {api}: Request limit exceeded.")

    def _pool(self, api: str) -> TokenBucket | None:
        if api == CREATE_FLEET:
            return self._resources[_RUN_INSTANCES] if self._launches else None
        return self._resources.get(api)
