"""Settings of a rehearsal or a simulation: from options, and from a ConfigMap among the manifests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, TypeAlias

import typer

from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.documents import Manifest
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.embed.told_settings import check_name, check_value, settings_of
from treenail.adapters.settings.global_settings import NAME
from treenail.adapters.settings.settings import Settings
from treenail.adapters.settings.sources import SettingError

SettingsSaid: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--setting",
        metavar="NAME=VALUE",
        help="A setting of the controller, such as CONSOLIDATION=off; may be given more than once.",
    ),
]
_NOTHING: Final[Mapping[str, str]] = {}


def said_by(written: Sequence[str] | None, option: str = "--setting") -> dict[str, str]:
    """Return the settings that such options say, by variable.

    Raises:
        BadInputError: one is not NAME=VALUE, its name is none of those that decide something here, or its
            value cannot be read.
    """
    said: dict[str, str] = {}
    for one in written or ():
        name, equals, value = one.partition("=")
        if not equals:
            raise BadInputError(f"{option} {one!r} is not NAME=VALUE, such as CONSOLIDATION=off")
        try:
            check_name(name)
        except SettingError as error:
            raise BadInputError(f"{option} {one!r}: {error}") from None
        try:
            check_value(name, value)
        except SettingError as error:
            raise BadInputError(f"{option} {error}") from None
        said[name] = value
    return said


def told_by(decoded: Decoded, manifests: Sequence[Manifest], said: Mapping[str, str] = _NOTHING) -> Settings:
    """Return the settings that are `said`, else those of the ConfigMap `karpenter-global-settings`.

    `decoded` is the translation of the manifests.

    Raises:
        BadInputError: a value cannot be read or followed.
    """
    try:
        return settings_of(decoded, said)
    except SettingError as error:
        if str(error).partition(":")[0] in said:
            raise BadInputError(f"--setting {error}") from None
        files = [one.file for one in manifests if (one.kind, one.name) == ("ConfigMap", NAME)]
        raise BadInputError(": ".join((*files[:1], str(error)))) from None
