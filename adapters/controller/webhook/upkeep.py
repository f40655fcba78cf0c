"""Keeping the webhook trusted: its authority, its certificate, and the definitions that name both.

Objects that are stored in an old version are left so, and so are definitions that name another webhook: the
user says otherwise, by `treenail takeover convert` and by applying our definitions.
"""

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
from treenail.adapters.controller.webhook.server import PATH
from treenail.adapters.kubernetes.definitions import CONVERTED, Definition, Definitions
from treenail.adapters.kubernetes.resources import Resource
from treenail.adapters.kubernetes.shared_secret import Kept, SharedSecret
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The address at which the API server reaches the webhook.

    `place` is as in a definition: {"service": {...}} or {"url": ...}. The certificate must be valid for all
    `names`.
    """

    place: Mapping[str, Any]
    names: tuple[str, ...]


def is_ours(definition: Definition) -> bool:
    """Return whether a definition names a webhook of ours, as those of deploy/crds do."""
    return definition.webhook_path.endswith(PATH)


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
        clock: Clock,
        log: Log,
    ) -> None:
        self._address = address
        self._secret = secret
        self._definitions = definitions
        self._present = present
        self._clock = clock
        self._log = log
        self._certificate: Certificate | None = None
        self._told: dict[str, tuple[str, ...]] = {}

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
        return len(found) == len(CONVERTED) and all(settled)

    # --- definitions

    def _found(self) -> tuple[Definition, ...]:
        read = {resource: self._definitions.read(resource) for resource in CONVERTED}
        found = tuple(d for d in read.values() if d is not None and set(d.versions) >= _BOTH)
        self._say_once(
            "definitions not found with both versions, v1beta1 and v1",
            [r for r in CONVERTED if r not in {d.resource for d in found}],
        )
        self._say_once(
            "definitions converted by another webhook, or by none, are left so: apply those of deploy/crds",
            [d.resource for d in found if not is_ours(d)],
        )
        ours = tuple(d for d in found if is_ours(d))
        self._say_once(
            "objects are stored in an old version: `treenail takeover convert` writes them anew",
            [d.resource for d in ours if d.storage == _STORED and d.stored != (_STORED,)],
        )
        return ours

    def _say_once(self, what: str, about: Sequence[Resource]) -> None:
        names = tuple(str(one) for one in about)
        if names and names != self._told.get(what):
            self._log(what, logger=LOGGER, level="warning", definitions=list(names))
        self._told[what] = names

    def _is_told(self, definition: Definition, authorities: Authorities) -> bool:
        """True if a definition names the webhook; where it does not, it is told, for the next turn to see."""
        if definition.is_converted_by(self._address.place, authorities.bundle):
            return True
        try:
            self._definitions.convert_by(definition, self._address.place, authorities.bundle)
        except ConflictError:
            return False
        self._log("webhook written into definition", logger=LOGGER, definition=str(definition.resource))
        return False

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
        self._log("issued webhook certificate", logger=LOGGER, until=self._certificate.until.isoformat())
