"""Kubeconfigs: which context is in use, and errors in words that give away nothing secret."""

from __future__ import annotations

import binascii
import os
import re
import ssl
from pathlib import Path
from typing import Any, Final

import yaml
from kubernetes.config import ConfigException
from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url
from yaml import MarkedYAMLError, YAMLError

_SCHEMES: Final = frozenset({"http", "https"})
_NO_KEY: Final = re.compile(r"Expected key ([\w-]+) in ")
_NO_ENTRY: Final = re.compile(r"Expected object with name .* in \S*/(\w+) list", re.DOTALL)


class KubeconfigFileError(Exception):
    """One of several files cannot be read. The text names it, and says what is wrong."""


def current_context(paths: str) -> str | None:
    """Return the current context of one or several files, as kubectl: that of the first file with one.

    `paths` are separated as in KUBECONFIG. Missing files are skipped, as kubectl does.

    Raises:
        KubeconfigFileError: one of several files cannot be read. A single file raises its error as it is.
    """
    files = [Path(path).expanduser() for path in paths.split(os.pathsep) if path]
    for file in files:
        if not file.exists():
            continue
        try:
            said = yaml.safe_load(file.read_text())
        except Exception as error:
            if len(files) == 1:
                raise
            raise KubeconfigFileError(f"{file}: {problem_of(error)}") from None
        context = said.get("current-context") if isinstance(said, dict) else None
        if context:
            return context if isinstance(context, str) else None
    return None


def place_of(configuration: Any) -> str:  # noqa: ANN401 - the official client brings no types
    """Return where the API server is: scheme, host, port and path, without what may be a credential."""
    url = parse_url(str(configuration.host))
    return f"{url.scheme}://{url.netloc}{url.path or ''}"


def problem_of(error: Exception) -> str:
    """Return what kept the official client from reading a kubeconfig, on one line."""
    match error:
        case KubeconfigFileError():
            return str(error)
        case OSError():
            return error.strerror or type(error).__name__
        case MarkedYAMLError(problem_mark=mark) if mark is not None:
            return f"line {mark.line + 1} is not YAML"
        case YAMLError():
            return "it is not YAML"
        case UnicodeDecodeError():
            return "it is not text"
        case binascii.Error():
            return "a certificate or key in it is not base64"
        case ConfigException():
            return _complaint(str(error))
        case _:
            return "it is not built as a kubeconfig is"


def _complaint(said: str) -> str:
    """Return what the official client says, less what it repeats of the content."""
    if found := _NO_KEY.search(said):
        return f"the key {found[1]} is missing where it must be"
    if found := _NO_ENTRY.search(said):
        return f"a name is used that is not among its {found[1]}"
    if "file is empty" in said:
        return "it is empty"
    if "No configuration found" in said or "does not exist" in said:
        return "it, or a file it names, does not exist"
    return "it is not built as a kubeconfig is"


def flaw_of(configuration: Any) -> str:  # noqa: ANN401 - the official client brings no types
    """Return what makes the settings that were read unusable, "" if nothing does."""
    if not _is_url(configuration.host):
        return "its server is not a URL (such as https://10.0.0.1:6443)"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if configuration.ssl_ca_cert:
            context.load_verify_locations(cafile=configuration.ssl_ca_cert)
    except OSError:
        return "its certificate authority is not a certificate"
    try:
        if configuration.cert_file:
            # Without a password given here, an encrypted key would be asked for at the terminal.
            context.load_cert_chain(configuration.cert_file, configuration.key_file, password="")
    except OSError:
        return "its client certificate and key are not a pair"
    return ""


def _is_url(text: object) -> bool:
    try:
        url = parse_url(text) if isinstance(text, str) else None
    except LocationParseError:
        return False
    return url is not None and url.scheme in _SCHEMES and bool(url.host)
