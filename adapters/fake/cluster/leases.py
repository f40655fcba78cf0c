"""Leases in memory: whoever writes over what is not there any more is refused."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from treenail.adapters.fake.cluster.request_faults import RequestFaults
from treenail.domain.leadership.lease import Lease
from treenail.domain.model.errors import AlreadyExistsError, ConflictError, NotFoundError


@dataclass(slots=True)
class Leases:
    """The leases there are, by namespace and name, each at the version of its last change."""

    there: dict[str, Lease] = field(default_factory=dict)
    version: int = 0

    def write(self, key: str, lease: Lease, over: Lease | None) -> Lease:
        """Keep `lease` in place of `over`."""
        known = self.there.get(key)
        if over is None and known is not None:
            raise AlreadyExistsError(f"the Lease {key} is there already")
        if over is not None and known is None:
            raise NotFoundError(f"the Lease {key} is not there")
        if over is not None and known is not None and known.version != over.version:
            raise ConflictError(f"the Lease {key} is at {known.version} by now, not at {over.version}")
        self.version += 1
        written = self.there[key] = replace(lease, version=str(self.version))
        return written


class FakeLease:
    """The port `LeaseStore`, as one client reaches it."""

    def __init__(
        self,
        leases: Leases,
        key: str,
        faults: Callable[[], RequestFaults],
        claims: Callable[[], Collection[object]],
    ) -> None:
        self._leases = leases
        self._key = key
        self._faults = faults
        self._claims = claims

    def read(self) -> Lease | None:
        """Return the lease as it is now; None where there is none."""
        return self._faults().read(self._leases.there.get, self._key)

    def has_claims(self) -> bool:
        """Return whether the cluster has claims."""
        return self._faults().read(lambda: bool(self._claims()))

    def write(self, lease: Lease, *, over: Lease | None) -> Lease:
        """Write the lease in place of `over`, or where there is none."""
        return self._faults().write(None, self._leases.write, self._key, lease, over)

    @property
    def there(self) -> Lease | None:
        """The lease as it stands, whatever becomes of requests."""
        return self._leases.there.get(self._key)

    def delete(self) -> None:
        """Delete the lease, as people do."""
        self._leases.there.pop(self._key, None)
