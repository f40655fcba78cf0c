"""The settings that manifests on a command line tell."""

from __future__ import annotations

from treenail.adapters.api.decoded import Decoded
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.embed.told_settings import settings_of
from treenail.adapters.settings.said import SettingError
from treenail.adapters.settings.settings import Settings


def told_by(decoded: Decoded) -> Settings:
    """Return what the ConfigMap `karpenter-global-settings` says, where it is among the manifests.

    Raises:
        BadInputError: a value cannot be read or followed.
    """
    try:
        return settings_of(decoded)
    except SettingError as error:
        raise BadInputError(str(error)) from None
