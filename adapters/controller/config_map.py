"""The ConfigMap `karpenter-global-settings`, read from the cluster at the start."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from treenail.adapters.controller.namespace import ACCOUNT, own_namespace
from treenail.adapters.kubernetes.connection import Connection, NotConnectedError
from treenail.adapters.kubernetes.errors import ForbiddenError
from treenail.adapters.settings.global_settings import NAME
from treenail.adapters.settings.settings import VARIABLES
from treenail.adapters.settings.sources import SettingError, Sources
from treenail.domain.model.backoff import Backoff, Retries
from treenail.domain.model.errors import NotFoundError, UnavailableError

_BACKOFF: Final = Backoff(first=0.5, longest=10.0)
_PATIENCE: Final = 300.0


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] | None = None


_DECODER: Final = msgspec.json.Decoder(_ConfigMap)


def read_config_map(sources: Sources, *, account: Path = ACCOUNT) -> Mapping[str, str]:
    """Return the data of the ConfigMap; nothing where there is none, or none that can be read.

    Without a way to the cluster there is nothing either. `account` is the file that names the
    namespace a pod is in.

    Raises:
        SettingError: the ConfigMap makes no sense.
        UnavailableError: the API server does not answer.
    """
    connection = _connect(sources)
    if connection is None:
        return {}
    namespace = own_namespace(_said(sources, "SYSTEM_NAMESPACE"), account=account)
    try:
        answer = connection.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/{NAME}")
        return _DECODER.decode(answer).data or {}
    except (NotFoundError, ForbiddenError):
        return {}
    except msgspec.DecodeError:
        raise SettingError(f"ConfigMap {NAME}: is not what the API server should say") from None
    finally:
        connection.close()


def await_config_map(
    read: Callable[[], Mapping[str, str]],
    *,
    say: Callable[[str], None],
    uniform: Callable[[float, float], float],
    sleep: Callable[[float], None] = time.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> Mapping[str, str]:
    """Return what `read` does, once the API server answers: it may start later than we do.

    Tells `say` each time that it does not.

    Raises:
        UnavailableError: it has not for five minutes.
    """
    retries = Retries(_BACKOFF, uniform)
    until = monotonic() + _PATIENCE
    while True:
        try:
            return read()
        except UnavailableError as error:
            pause = retries.failed()
            if monotonic() + pause > until:
                raise
            say(f"the settings cannot be read yet: {' '.join(str(error).split())}")
            sleep(pause)


def _connect(sources: Sources) -> Connection | None:
    kubeconfig, context = _said(sources, "KUBECONFIG"), _said(sources, "KUBE_CONTEXT")
    try:
        return Connection.open(
            kubeconfig=Path(kubeconfig) if kubeconfig else None, context=context or None, qps=1, burst=1
        )
    except NotConnectedError:
        # Whoever needs the cluster for more tells why.
        return None


def _said(sources: Sources, name: str) -> str:
    [variable] = [variable for variable in VARIABLES if variable.name == name]
    return str(sources.read(variable))
