"""A command line's way to a scripted API server."""

from __future__ import annotations

import json
from pathlib import Path


def kubeconfig(folder: Path, url: str) -> str:
    """Return the path of a kubeconfig for the API server at `url`."""
    file = folder / "kubeconfig"
    tree = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "clusters": [{"name": "here", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {"token": "t"}}],
    }
    file.write_text(json.dumps(tree))
    return str(file)
