from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from treenail.adapters.kubernetes.connection import Connection, NotConnectedError

SECRET = "top-secret"  # noqa: S105
NO_PEM = base64.b64encode(SECRET.encode()).decode()


def tree(cluster: Any = None, **more: Any) -> str:
    plain = {
        "current-context": "one",
        "clusters": [{"name": "c", "cluster": cluster or {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": SECRET}}],
        "contexts": [{"name": "one", "context": {"cluster": "c", "user": "u"}}],
    }
    return json.dumps({**plain, **more})


def of_server(server: object, **more: str) -> str:
    return tree({"server": server, **more})


def of_user(**user: object) -> str:
    return tree(users=[{"name": "u", "user": user}])


ODD = "it is not built as a kubeconfig is"
NO_URL = "its server is not a URL (such as https://10.0.0.1:6443)"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (f"token: {SECRET}\na: [b\n x: {SECRET}", "line 3 is not YAML"),
        (f"{SECRET}: \0", "it is not YAML"),
        (b"\x00\xff\xfe\x80" + SECRET.encode(), "it is not text"),
        ("", "it is empty"),
        (SECRET, ODD),
        (f"[{SECRET}]", ODD),
        ("[" * 5000, ODD),
        (f"{SECRET}: 2024-02-30", ODD),
        (tree(clusters=SECRET), "the key name is missing where it must be"),
        (tree(clusters=[1]), ODD),
        (tree(clusters=[{"name": "c", "x": SECRET}]), "the key cluster is missing where it must be"),
        (tree(**{"current-context": [SECRET]}), "a name is used that is not among its contexts"),
        (
            of_server("https://x", **{"certificate-authority-data": "!!!a"}),
            "a certificate or key in it is not base64",
        ),
        (
            of_server("https://x", **{"certificate-authority-data": NO_PEM}),
            "its certificate authority is not a certificate",
        ),
        (
            of_user(**{"client-certificate-data": NO_PEM, "client-key-data": NO_PEM}),
            "its client certificate and key are not a pair",
        ),
        (
            of_server("https://x", **{"certificate-authority": f"/{SECRET}"}),
            "it, or a file it names, does not exist",
        ),
        (of_server(5), ODD),
        *[
            (of_server(url), NO_URL)
            for url in (SECRET, "", "https://", "ftp://x", "https://x:abc", "https://x:99999")
        ],
    ],
)
def test_of_a_broken_kubeconfig_is_told_what_is_wrong_but_nothing_it_holds(
    content: str | bytes, problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())

    with pytest.raises(NotConnectedError) as raised:
        Connection.open(kubeconfig=file, qps=1, burst=1)

    assert str(raised.value) == f"no way to the API server ({file}): {problem}"


def test_a_sound_kubeconfig_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(tree())

    connection = Connection.open(kubeconfig=file, qps=1, burst=1)
    connection.close()

    assert connection.url == "https://127.0.0.1:1"
