"""Syntax of the settings' values. Each reader raises a ValueError that says what would be right."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from enum import Enum
from typing import Final, TypeVar
from urllib.parse import SplitResult, urlsplit

from treenail.adapters.api.aws.launch_options import check_tags
from treenail.adapters.api.aws.v1_node_class import RESTRICTED_TAGS
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.names import is_dns_label, is_subdomain
from treenail.domain.model.durations import parse_duration

E = TypeVar("E", bound=Enum)

_TRUE: Final = frozenset({"1", "t", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "f", "false", "no", "off"})
_LAST_PORT: Final = 65_535
_MINUTE: Final = 60.0
_NAME: Final = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
# It goes into the keys of tags, and into names and paths of IAM. EKS allows no more; others name by domains.
_CLUSTER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# What EC2 allows of an instance's tags.
_MOST_TAGS: Final = 50
_LONGEST_KEY: Final = 128
_LONGEST_VALUE: Final = 256


def text(written: str) -> str:
    """Read any text."""
    return written


def boolean(written: str) -> bool:
    """Read true or false."""
    if written.lower() in _TRUE:
        return True
    if written.lower() in _FALSE:
        return False
    raise ValueError("is neither true nor false")


def seconds(written: str) -> float:
    """Read a duration such as 10s as seconds."""
    span = parse_duration(written)
    if span is None or span.total_seconds() <= 0:
        raise ValueError("is not a duration above zero, such as 10s or 1m30s")
    return span.total_seconds()


def minutes(written: str) -> float:
    """Read a duration of a minute or more as seconds."""
    found = seconds(written)
    if found < _MINUTE:
        raise ValueError("is less than a minute")
    return found


def port(written: str) -> int:
    """Read a TCP port. 0 is one that is free."""
    number = _integer(written)
    if number is None or not 0 <= number <= _LAST_PORT:
        raise ValueError("is not a port between 0 and 65535")
    return number


def natural(written: str) -> int:
    """Read an integer that is not negative."""
    number = _integer(written)
    if number is None or number < 0:
        raise ValueError("is not an integer of 0 or more")
    return number


def positive(written: str) -> float:
    """Read a number above zero."""
    number = _number(written)
    if number is None or number <= 0:
        raise ValueError("is not a number above 0")
    return number


def share(written: str) -> float:
    """Read a fraction from 0 to below 1."""
    number = _number(written)
    if number is None or not 0 <= number < 1:
        raise ValueError("is not a fraction of 0 or more and below 1, such as 0.075")
    return number


def ratio(written: str) -> float:
    """Read a fraction from 0 to 1."""
    number = _number(written)
    if number is None or not 0 <= number <= 1:
        raise ValueError("is not a fraction from 0 to 1")
    return number


def url(written: str) -> str:
    """Read an absolute URL; nothing is no URL."""
    parts = _parts_of(written)
    if written and (parts is None or parts.scheme not in {"http", "https"}):
        raise ValueError("is not an absolute URL, such as https://10.0.0.1")
    return written


def secure_url(written: str) -> str:
    """Read an absolute URL with https and nothing behind its path; nothing is no URL."""
    parts = _parts_of(written)
    plain = parts is not None and not (parts.query or parts.fragment or parts.username or parts.password)
    if written and (parts is None or parts.scheme != "https" or not plain):
        raise ValueError("is not an absolute URL with https, such as https://10.0.0.1:8443")
    return written


def _parts_of(written: str) -> SplitResult | None:
    """Return the parts of a URL that leads to a host, None where it leads to none."""
    try:
        parts = urlsplit(written)
        reachable = parts.port != 0 and not any(c.isspace() or not c.isprintable() for c in written)
    except ValueError:
        return None
    return parts if reachable and parts.hostname else None


def certificates(written: str) -> str:
    """Read certificates as base64, lines put together; nothing is none."""
    joined = "".join(written.split())
    try:
        base64.b64decode(joined, validate=True)
    except ValueError:
        raise ValueError("is not base64") from None
    return joined


def cluster(written: str) -> str:
    """Read a cluster's name; nothing is none."""
    if written and not _CLUSTER.fullmatch(written):
        raise ValueError("is not a name of letters, digits, hyphens, underscores and dots, 100 at most")
    return written


def namespace(written: str) -> str:
    """Read the name of a namespace; nothing is none."""
    if written and not is_dns_label(written):
        raise ValueError("is not a name of lower-case letters, digits and hyphens")
    return written


def name(written: str) -> str:
    """Read the name of an object, such as a Service."""
    if not _NAME.fullmatch(written):
        raise ValueError("is not a name of lower-case letters, digits and hyphens")
    return written


def object_name(written: str) -> str:
    """Read the name of an object whose kind allows dots, such as a Lease."""
    if not is_subdomain(written):
        raise ValueError("is not a name of lower-case letters, digits, hyphens and dots")
    return written


def log_paths(written: str) -> tuple[str, ...]:
    """Read where log lines go, divided by commas: stdout, stderr, or absolute paths of files."""
    paths = tuple(path for path in (part.strip() for part in written.split(",")) if path)
    if not paths or any(path not in ("stdout", "stderr") and not path.startswith("/") for path in paths):
        raise ValueError("is none of stdout, stderr and absolute paths, divided by commas")
    return tuple(dict.fromkeys(paths))


def one_of(kind: type[E]) -> Callable[[str], E]:
    """Return a reader of the values of an enum, in any case."""
    known = {str(member.value).lower(): member for member in kind}

    def read(written: str) -> E:
        if written.lower() not in known:
            raise ValueError(f"is none of {', '.join(known)}")
        return known[written.lower()]

    return read


def switch(kind: type[E]) -> Callable[[str], E]:
    """Return a reader of the values of an enum that has `on` and `off`: YAML makes these true and false."""
    read = one_of(kind)
    yaml = {"true": "on", "false": "off"}
    return lambda written: read(yaml.get(written.lower(), written))


def tags(written: str) -> dict[str, str]:
    """Read tags as a JSON object of texts; none of them is one that instances get from us."""
    try:
        found = json.loads(written or "{}")
    except (ValueError, RecursionError):
        found = None
    if found is None and written.strip() == "null":
        return {}
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise ValueError('is not a JSON object of texts, such as {"team": "a"}')
    try:
        check_tags(found, "", restricted=RESTRICTED_TAGS, prefix="kubernetes.io/cluster")
    except FieldError as error:
        raise ValueError(f"cannot be followed: {error}") from None
    _check_limits(found)
    return found


def _check_limits(tags: dict[str, str]) -> None:
    """Raise ValueError if EC2 would refuse every launch for these tags."""
    if len(tags) > _MOST_TAGS:
        raise ValueError(f"cannot be followed: EC2 takes {_MOST_TAGS} tags at most")
    for key, value in tags.items():
        if key.lower().startswith("aws:"):
            raise ValueError(f"cannot be followed: {key!r}: aws: is for AWS alone")
        if len(key) > _LONGEST_KEY or len(value) > _LONGEST_VALUE:
            raise ValueError(
                f"cannot be followed: {key!r} or its value is longer than {_LONGEST_KEY} and {_LONGEST_VALUE}"
            )


def gates(known: dict[str, bool]) -> Callable[[str], dict[str, bool]]:
    """Return a reader of feature gates (`Name=true,Other=false`); those not named are as in `known`.

    One that is not known is read too, as Karpenter does: charts of other versions name others.
    """

    def read(written: str) -> dict[str, bool]:
        result = dict(known)
        for part in filter(None, (part.strip() for part in written.split(","))):
            name, equals, value = part.partition("=")
            try:
                result[name] = boolean(value if equals else "")
            except ValueError:
                raise ValueError(f"sets {name} to {value!r}, which is neither true nor false") from None
        return result

    return read


def gates_on(known: dict[str, bool]) -> Callable[[str], list[str]]:
    """Return a reader of feature gates as `gates` reads them, which gives the names of those that are on."""
    read = gates(known)
    return lambda written: [name for name, on in read(written).items() if on and name in known]


def _integer(written: str) -> int | None:
    try:
        return int(written) if written.isascii() else None
    except ValueError:
        return None


def _number(written: str) -> float | None:
    try:
        number = float(written)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
