from __future__ import annotations

import base64
import json
import os
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


def several(tmp_path: Path, *contents: str | None) -> Path:
    """Return the files of these contents as KUBECONFIG names them; None is a file that is not there."""
    files = [tmp_path / f"config-{number}" for number in range(len(contents))]
    for file, content in zip(files, contents, strict=True):
        if content is not None:
            file.write_text(content)
    return Path(os.pathsep.join(map(str, files)))


def part(name: str, *, current: str = "", server: str = "", users: bool = True) -> str:
    """Return a kubeconfig with the context, the cluster and, if wanted, the user of a name."""
    return json.dumps(
        {
            "current-context": current,
            "clusters": [{"name": name, "cluster": {"server": server or f"https://{name}:1"}}],
            "users": [{"name": name, "user": {"token": SECRET}}] if users else [],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        }
    )


def opened(kubeconfig: Path, context: str | None = None) -> tuple[str, str]:
    connection = Connection.open(kubeconfig=kubeconfig, context=context, qps=1, burst=1)
    connection.close()
    return connection.context, connection.url


def test_of_several_files_the_first_that_names_a_context_says_which(tmp_path: Path) -> None:
    files = several(tmp_path, part("a"), None, part("b", current="b"), part("c", current="a"))

    assert opened(files) == ("b", "https://b:1")
    assert opened(files, "c") == ("c", "https://c:1")


def test_of_several_files_the_first_that_has_an_entry_counts(tmp_path: Path) -> None:
    files = several(tmp_path, part("a", current="a"), part("a", server="https://other:1"))

    assert opened(files) == ("a", "https://a:1")


def test_a_context_of_one_file_may_use_the_user_of_another(tmp_path: Path) -> None:
    files = several(tmp_path, part("a", current="a", users=False), part("a"))

    assert opened(files) == ("a", "https://a:1")


def test_of_several_files_the_one_that_is_broken_is_named_and_nothing_it_holds(tmp_path: Path) -> None:
    files = several(tmp_path, part("a"), f"token: {SECRET}\na: [b\n x: {SECRET}")

    with pytest.raises(NotConnectedError) as raised:
        opened(files)

    assert str(raised.value).endswith(f": {tmp_path}/config-1: line 3 is not YAML")


def test_the_place_of_an_api_server_has_no_credentials(tmp_path: Path) -> None:
    file = several(tmp_path, tree({"server": f"https://me:{SECRET}@rancher:8443/k8s/c-1?token={SECRET}#x"}))
    connection = Connection.open(kubeconfig=file, qps=1, burst=1)
    connection.close()

    assert connection.place == "https://rancher:8443/k8s/c-1"
