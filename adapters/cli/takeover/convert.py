"""`treenail takeover convert`: have all objects of Karpenter's kinds stored in one version of the API."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Final

import typer

from treenail.adapters.cli.convert import ApiVersion
from treenail.adapters.cli.kubeconfig import Context, Kubeconfig, connect
from treenail.adapters.cli.problems import BadInputError
from treenail.domain.model.backoff import Backoff, Retries
from treenail.domain.model.errors import ConflictError, PortError, UnavailableError

if TYPE_CHECKING:  # the library for it takes a third of a second to import
    from treenail.adapters.kubernetes.api_calls import Sender
    from treenail.adapters.kubernetes.definitions import Definition
    from treenail.adapters.kubernetes.storage_migration import Migration

_WRITES_PER_SECOND: Final = 50
# Every API server takes note by itself of the version that objects are stored in from now on.
_NOTICED_SECONDS: Final = 5.0
# It serves the kinds of a definition anew when that has changed, and answers nobody about them meanwhile.
_BACKOFF: Final = Backoff(first=1.0, longest=10.0)
_TRIES: Final = 5


def convert(
    *,
    to: Annotated[ApiVersion, typer.Option(help="The version to store objects in.")] = ApiVersion.V1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Try the conversion of each object, and write nothing.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Write NodePools, NodeClaims and EC2NodeClasses anew, so that all are stored in one version.

    Ended at any moment, it is run again. The exit code is 1 where something has to be done first.
    """
    from treenail.adapters.kubernetes.connection import NotConnectedError  # noqa: PLC0415

    try:
        connection = connect(kubeconfig, context, writes_per_second=_WRITES_PER_SECOND)
    except NotConnectedError as error:
        raise BadInputError(str(error)) from None
    try:
        well = Conversion(connection, to.value, dry_run=dry_run).run_until_answered()
    except ConflictError as error:
        typer.echo(f"changed by others meanwhile, run it again: {error}")
        well = False
    except PortError as error:
        raise BadInputError(f"the cluster cannot be read or written: {error}") from None
    finally:
        connection.close()
    if not well:
        raise typer.Exit(1)


class Conversion:
    """Has the objects of every definition stored in the version `to`."""

    def __init__(
        self, connection: Sender, to: str, *, dry_run: bool, wait: Callable[[float], bool] | None = None
    ) -> None:
        """`wait` waits so many seconds, and tells whether to break off."""
        from treenail.adapters.kubernetes.api_calls import ApiCalls  # noqa: PLC0415
        from treenail.adapters.kubernetes.conversion_trial import ConversionTrial  # noqa: PLC0415
        from treenail.adapters.kubernetes.definitions import Definitions  # noqa: PLC0415
        from treenail.adapters.kubernetes.storage_migration import StorageMigration  # noqa: PLC0415

        calls = ApiCalls(connection)
        self._definitions = Definitions(calls)
        self._wait = wait or _wait
        self._migration = StorageMigration(calls, log=_say, wait=self._wait)
        self._trial = ConversionTrial(calls, to, say=typer.echo, wait=self._wait)
        self._to = to
        self._dry_run = dry_run

    def run_until_answered(self) -> bool:
        """Do the same as `run`, again a few times where the API server cannot answer for a while.

        Raises:
            PortError: it could not the last time, or does not let us: neither a missing permission nor
                credentials that it does not take come by themselves.
        """
        from treenail.adapters.kubernetes.errors import ForbiddenError, UnauthorizedError  # noqa: PLC0415

        retries = Retries(_BACKOFF, random.uniform)
        for _ in range(_TRIES - 1):
            try:
                return self.run()
            except (ForbiddenError, UnauthorizedError):
                raise
            except (ConflictError, UnavailableError) as error:
                sys.stderr.write(f"treenail: tried again: {error}\n")
                self._wait(retries.failed())
        return self.run()

    def run(self) -> bool:
        """Return whether all of it is done, or would be."""
        from treenail.adapters.kubernetes.definitions import CONVERTED  # noqa: PLC0415

        there = [one for one in map(self._definitions.read, CONVERTED) if one is not None]
        if not there:
            typer.echo("there are no definitions of NodePools, NodeClaims and EC2NodeClasses in the cluster")
        due = [one for one in there if self._is_due(one)]
        # All are looked at before the first is changed.
        possible = [self._can_be_converted(one) for one in due]
        if not all(possible):
            return False
        done = [self._try(one) if self._dry_run else self._convert(one) for one in due]
        return all(done)

    def _is_due(self, definition: Definition) -> bool:
        if (definition.storage, definition.stored) != (self._to, (self._to,)):
            return True
        typer.echo(f"{definition.resource}: stored in {self._to} alone already")
        return False

    def _can_be_converted(self, definition: Definition) -> bool:
        from treenail.adapters.controller.webhook.upkeep import is_ours  # noqa: PLC0415

        if self._to in definition.versions and is_ours(definition):
            return True
        served = ", ".join(definition.versions)
        typer.echo(
            f"{definition.resource}: serves {served}, and no webhook of ours converts it: first apply the"
            " definitions of deploy/crds, and start the controller, which serves the webhook"
        )
        return False

    def _try(self, definition: Definition) -> bool:
        done = self._trial.run(definition.resource)
        return done is not None and self._report(definition, done, "would be written anew")

    def _convert(self, definition: Definition) -> bool:
        if definition.storage != self._to:
            self._definitions.store_in(definition, self._to)
            self._wait(_NOTICED_SECONDS)
        read = self._definitions.read(definition.resource)
        done = self._migration.run(read) if read is not None else None
        return done is not None and self._report(definition, done, f"written anew in {self._to}")

    def _report(self, definition: Definition, done: Migration, what: str) -> bool:
        stored = ", ".join(definition.stored)
        refused = f", {done.refused} refused" if done.refused else ""
        typer.echo(f"{definition.resource}: stored in {stored}; {done.written} {what}{refused}")
        return not done.refused


def _say(message: str, /, **fields: object) -> None:
    typer.echo(f"{fields['about']}: {message}: {fields['error']}")


def _wait(seconds: float) -> bool:
    time.sleep(seconds)
    return False
