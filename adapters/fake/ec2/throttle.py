"""EC2's limits on calls: token buckets by API, and of resources for some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NoReturn

from treenail.adapters.fake.ec2.settings import EC2Settings
from treenail.domain.model.errors import InvalidError, TooManyRequestsError
from treenail.domain.model.rate_limits import Limit, TokenBucket
from treenail.domain.model.runtime import Agenda

CREATE_FLEET: Final = "CreateFleet"
CREATE_LAUNCH_TEMPLATE: Final = "CreateLaunchTemplate"
CREATE_TAGS: Final = "CreateTags"
DESCRIBE_INSTANCES: Final = "DescribeInstances"
DESCRIBE_INSTANCE_TYPES: Final = "DescribeInstanceTypes"
TERMINATE_INSTANCES: Final = "TerminateInstances"
DELETE_INSTANCE_PROFILE: Final = "DeleteInstanceProfile"
_RUN_INSTANCES: Final = "RunInstances"

# What a call asks for at most is what its bucket holds at most.
_REQUESTS: Final[Mapping[str, Limit]] = {
    CREATE_FLEET: Limit(per_second=5, burst=50),
    CREATE_LAUNCH_TEMPLATE: Limit(per_second=5, burst=50),
    CREATE_TAGS: Limit(per_second=10, burst=100),
    DESCRIBE_INSTANCES: Limit(per_second=20, burst=100),
    DESCRIBE_INSTANCE_TYPES: Limit(per_second=20, burst=100),
    TERMINATE_INSTANCES: Limit(per_second=5, burst=100),
    "DescribeCapacityReservations": Limit(per_second=20, burst=100),
    "DescribeImages": Limit(per_second=20, burst=100),
    "DescribeInstanceStatus": Limit(per_second=20, burst=100),
    "DescribePlacementGroups": Limit(per_second=20, burst=100),
    "DescribeSecurityGroups": Limit(per_second=20, burst=100),
    "DescribeSubnets": Limit(per_second=20, burst=100),
    "GetInstanceProfile": Limit(per_second=20, burst=100),
    DELETE_INSTANCE_PROFILE: Limit(per_second=5, burst=100),
}
_RESOURCES: Final[Mapping[str, Limit]] = {
    TERMINATE_INSTANCES: Limit(per_second=20, burst=1000),
    _RUN_INSTANCES: Limit(per_second=2, burst=1000),
}


class Throttle:
    """Counts every call, and refuses those over the limits."""

    def __init__(self, agenda: Agenda, settings: EC2Settings) -> None:
        self._agenda = agenda
        self._enabled = settings.throttled
        self._launches = settings.launches_throttled
        self._requests = {api: TokenBucket(limit, 0.0) for api, limit in _REQUESTS.items()}
        self._resources = {api: TokenBucket(limit, 0.0) for api, limit in _RESOURCES.items()}
        self._calls: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()

    @property
    def calls(self) -> Mapping[str, int]:
        """The number of calls of each API, refused ones included."""
        return MappingProxyType(self._calls)

    @property
    def refused(self) -> Mapping[str, int]:
        """The number of calls that each API refused as one too many."""
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
        if request.wait(now) or (pool is not None and pool.wait(now, resources)):
            self.refuse(api)
        request.take(now)
        if pool is not None:
            pool.take(now, resources)

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
