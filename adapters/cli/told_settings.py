"""Settings from a ConfigMap among the manifests of a command."""

from __future__ import annotations

from collections.abc import Sequence

from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.documents import Manifest
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.embed.told_settings import settings_of
from treenail.adapters.settings.global_settings import NAME
from treenail.adapters.settings.settings import Settings
from treenail.adapters.settings.sources import SettingError


def told_by(decoded: Decoded, manifests: Sequence[Manifest]) -> Settings:
    """Return what the ConfigMap `karpenter-global-settings` says, where it is among the manifests.

    `decoded` is the translation of the manifests.

    Raises:
        BadInputError: a value cannot be read or followed.
    """
    try:
        return settings_of(decoded)
    except SettingError as error:
        files = [one.file for one in manifests if (one.kind, one.name) == ("ConfigMap", NAME)]
        raise BadInputError(": ".join((*files[:1], str(error)))) from None
