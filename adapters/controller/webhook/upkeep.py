"""Keeping the webhook trusted: its authority, its certificate, and the definitions that name both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from treenail.adapters.controller.webhook.authorities import Authorities
from treenail.adapters.controller.webhook.certificates import (
    Certificate,
    UnreadableError,
    issued,
    new_authority,
)
from treenail.adapters.kubernetes.definitions import CONVERTED, Definition, Definitions
from treenail.adapters.kubernetes.shared_secret import Kept, SharedSecret
from treenail.adapters.kubernetes.storage_migration import Migration
from treenail.domain.model.errors import AlreadyExistsError, ConflictError
from treenail.domain.model.runtime import Clock, Log

_BOTH: Final = frozenset({"v1", "v1beta1"})
_STORED: Final = "v1"
# How often it is tried to write what others write too, before the next turn.
_TRIES: Final = 5
LOGGER: Final = "controller.webhook"


class Presents(Protocol):
    """Shows a certificate: `ConversionServer.present`."""

    def __call__(self, certificate: Certificate, /) -> None: ...


class Migrates(Protocol):
    """Writes objects anew: `StorageMigration.run`."""

    def __call__(self, definition: Definition, /) -> Migration | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the API server finds the webhook.

    `place` is as a definition says it: {"service": {...}} or {"url": ...}. `names` are those by which the
    certificate must be good.
    """

    place: Mapping[str, Any]
    names: tuple[str, ...]


class WebhookUpkeep:
    """Looks after the webhook, one `turn` after the other.

    Replicas share an authority by a Secret, and each has a certificate of its own from it. A new authority
    vouches for nothing before the API server is known to trust it, and what an old one vouched for is
    trusted until that ends: so no call fails because something is renewed.
    """

    def __init__(
        self,
        *,
        address: Address,
        secret: SharedSecret,
        definitions: Definitions,
        present: Presents,
        migrate: Migrates,
        clock: Clock,
        log: Log,
    ) -> None:
        self._address = address
        self._secret = secret
        self._definitions = definitions
        self._present = present
        self._migrate = migrate
        self._clock = clock
        self._log = log
        self._certificate: Certificate | None = None
        self._missing: tuple[str, ...] = ()

    def turn(self) -> bool:
        """Do what is due; return whether all is well, so that the next turn may be a while away.

        Raises:
            PortError: the API server cannot be asked, or refuses. What was served before is served on.
        """
        # The definitions first: what is then read of the Secret is at least as new as they are, so that no
        # replica puts back in them what another has just replaced.
        found = self._found()
        authorities = self._authorities()
        self._serve(authorities, found)
        settled = [self._is_told(definition, authorities) for definition in found]
        migrated = [self._is_migrated(definition) for definition in found] if all(settled) else []
        return len(found) == len(CONVERTED) and all(settled) and all(migrated)

    # --- definitions

    def _found(self) -> tuple[Definition, ...]:
        read = {resource: self._definitions.read(resource) for resource in CONVERTED}
        found = tuple(d for d in read.values() if d is not None and set(d.versions) >= _BOTH)
        missing = tuple(str(r) for r in CONVERTED if r not in {d.resource for d in found})
        if missing and missing != self._missing:
            self._log(
                "definitions not found with both versions, v1beta1 and v1",
                logger=LOGGER,
                level="warning",
                definitions=list(missing),
            )
        self._missing = missing
        return found

    def _is_told(self, definition: Definition, authorities: Authorities) -> bool:
        """Whether a definition names the webhook; where it does not, it is told, for the next turn to see."""
        if definition.is_converted_by(self._address.place, authorities.bundle):
            return True
        try:
            self._definitions.convert_by(definition, self._address.place, authorities.bundle)
        except ConflictError:
            return False
        self._log("definition told of the webhook", logger=LOGGER, definition=str(definition.resource))
        return False

    def _is_migrated(self, definition: Definition) -> bool:
        if definition.stored == (_STORED,) or definition.storage != _STORED:
            return True
        self._log(
            "migrating stored objects",
            logger=LOGGER,
            definition=str(definition.resource),
            stored_versions=list(definition.stored),
        )
        try:
            done = self._migrate(definition)
        except ConflictError:
            return False
        if done is None:
            return False
        self._log(
            "migrated stored objects" if not done.refused else "stored objects left in a version of before",
            logger=LOGGER,
            level="info" if not done.refused else "warning",
            definition=str(definition.resource),
            written=done.written,
            refused=done.refused,
        )
        return not done.refused

    # --- authorities and certificates

    def _authorities(self) -> Authorities:
        """Return the authorities that all share, with a new one where that is due.

        Raises:
            ConflictError: others write them whenever we do.
        """
        for _ in range(_TRIES):
            kept = self._secret.read()
            known = self._known(kept)
            now = self._clock.now()
            wanted = (known or self._begun_anew(now)).renewed(now)
            if wanted is known:
                return wanted
            try:
                self._secret.write(wanted.data(), kept)
            except (AlreadyExistsError, ConflictError):
                continue
            self._log(
                "webhook's authority made" if known is None else "webhook's authorities renewed",
                logger=LOGGER,
                secret=str(self._secret),
                until=wanted.newest.until.isoformat(),
            )
            return wanted
        raise ConflictError(f"the Secret {self._secret} is written by others whenever we do")

    def _begun_anew(self, now: datetime) -> Authorities:
        """Return a new authority where the Secret was lost: what was served so far is still to be trusted."""
        mine = self._certificate
        return Authorities(new_authority(now), () if mine is None else (mine.issuer,))

    def _known(self, kept: Kept | None) -> Authorities | None:
        # The chart makes the Secret, and makes it empty.
        if kept is None or not kept.data:
            return None
        try:
            return Authorities.read(kept.data)
        except UnreadableError as error:
            self._log(
                "webhook's authority cannot be read",
                logger=LOGGER,
                level="warning",
                secret=str(self._secret),
                problem=str(error),
            )
            return None

    def _serve(self, authorities: Authorities, found: Sequence[Definition]) -> None:
        """Present another certificate where that is due, and where it will be trusted."""
        now, mine, newest = self._clock.now(), self._certificate, authorities.newest
        trusted = all(authorities.trusted_by(definition.ca_bundle) for definition in found)
        if mine is not None and not mine.ended(now):
            fresh = mine.issuer == newest.pem and not mine.due(now)
            if fresh or not trusted:
                return
        self._certificate = issued(newest, self._address.names, now)
        self._present(self._certificate)
        self._log("webhook's certificate issued", logger=LOGGER, until=self._certificate.until.isoformat())
