"""Syntax of names, label keys and label values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from treenail.adapters.api.diagnosis import quoted, under
from treenail.adapters.api.errors import FieldError

_LONGEST_LABEL: Final = 63
_LONGEST_SUBDOMAIN: Final = 253
_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_DNS_LABEL: Final = re.compile(_LABEL)
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_KNOWN: Final = 4096

# Resources a container may ask for without naming whose they are.
_NATIVE: Final = frozenset({"cpu", "memory", "ephemeral-storage", "storage"})


@lru_cache(_KNOWN)
def is_subdomain(name: str) -> bool:
    """Return whether `name` is a DNS subdomain, as the names of most objects must be."""
    return len(name) <= _LONGEST_SUBDOMAIN and _SUBDOMAIN.fullmatch(name) is not None


def is_dns_label(name: str) -> bool:
    """Return whether `name` is a DNS label, as the names of namespaces and containers must be."""
    return len(name) <= _LONGEST_LABEL and _DNS_LABEL.fullmatch(name) is not None


@lru_cache(_KNOWN)
def is_label_key(key: str) -> bool:
    """Return whether `key` is a name of at most 63 characters, after a DNS subdomain and "/" or alone."""
    domain, slash, name = key.rpartition("/")
    if slash and not is_subdomain(domain):
        return False
    return len(name) <= _LONGEST_LABEL and _NAME.fullmatch(name) is not None


@lru_cache(_KNOWN)
def is_label_value(value: str) -> bool:
    """Return whether `value` may be a label's: empty, or at most 63 characters."""
    return not value or (len(value) <= _LONGEST_LABEL and _NAME.fullmatch(value) is not None)


def is_native(resource: str) -> bool:
    """Return whether Kubernetes itself counts `resource`."""
    return resource in _NATIVE or resource.startswith("hugepages-")


def domain_of(key: str) -> str:
    """Return the prefix of a label key, before the "/"; "" if there is none."""
    return key.rpartition("/")[0]


def check_key(key: str, at: str) -> None:
    """Raise FieldError unless `key` may be a label's key."""
    if not is_label_key(key):
        raise FieldError(at, f"{quoted(key)} is not a label key (such as team or example.com/team)")


def check_value(value: str, at: str) -> None:
    """Raise FieldError unless `value` may be a label's value."""
    if not is_label_value(value):
        raise FieldError(
            at, f"{quoted(value)} is not a label value (at most 63 letters, digits, '-', '_' and '.')"
        )


def check_labels(labels: Mapping[str, str], at: str) -> None:
    """Raise FieldError unless all of `labels` are well-formed."""
    for key, value in labels.items():
        if not is_label_key(key):
            check_key(key, at)
        if not is_label_value(value):
            check_value(value, under(at, key))


def check_annotations(annotations: Iterable[str], at: str) -> None:
    """Raise FieldError unless all keys of `annotations` are well-formed."""
    for key in annotations:
        if not is_label_key(key.lower()):
            raise FieldError(at, f"{quoted(key)} is not an annotation key (such as example.com/team)")
