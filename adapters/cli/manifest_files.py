"""The manifests that a command is given."""

from __future__ import annotations

from collections.abc import Sequence

from treenail.adapters.api.auto_mode import as_karpenter
from treenail.adapters.api.manifests import Manifest, read_manifests
from treenail.adapters.cli.output_format import warn


def manifests_of(files: Sequence[str]) -> tuple[Manifest, ...]:
    """Read the manifests of files and folders; "-" is standard input. Warn of what is read as another kind.

    Raises:
        ManifestError: one cannot be read.
    """
    found, warnings = as_karpenter(read_manifests(files))
    warn(warnings)
    return found
