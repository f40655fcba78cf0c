"""Facts of the cluster that nodes need to join it: endpoint, certificate authority, DNS, version."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model.errors import InvalidError, NotFoundError, UnavailableError

_SECONDS: Final = 300.0
_VERSION: Final = re.compile(r"v?(\d+\.\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterIdentity:
    """The cluster as users set it. Empty fields are looked up. Fields are as those of ClusterFacts."""

    name: str
    endpoint: str = ""
    certificate_authority: str = ""
    service_cidr: str = ""


class Cluster:
    """The facts of the cluster: as set, or else as EKS tells, remembered for five minutes.

    `server_version` asks the API server for its version ("v1.34.2"); it is the one to know. A cluster
    that EKS does not know, or that we may not ask about, is known by its settings alone.
    """

    def __init__(
        self, aws: Aws, caches: AnswerCaches, settings: ClusterIdentity, server_version: Callable[[], str]
    ) -> None:
        self._aws = aws
        self._settings = settings
        self._ask = server_version
        self._log = caches.log
        self._told: dict[str, object] = {}
        self._version = caches.of("the cluster's version", self._ask_server, seconds=_SECONDS)
        self._described = caches.of("the cluster", self._describe, seconds=_SECONDS)

    def version(self) -> str:
        """Return the version of Kubernetes, as "1.34".

        Raises:
            PortError: the API server does not tell.
        """
        version = self._version.get(self._settings.name)
        self._tell("discovered kubernetes version", version=version)
        return version

    def facts(self) -> ClusterFacts:
        """Return what a node must be told.

        Raises:
            InvalidError: neither the settings nor EKS tell how to reach the API server.
            PortError: it could not be looked up.
        """
        own = self._settings
        if not (own.endpoint and own.certificate_authority and own.service_cidr):
            own = self._described.get(own.name)
        if not (own.endpoint and own.certificate_authority):
            raise InvalidError(
                f"cluster {own.name}: EKS does not tell its endpoint and certificate authority, and no "
                "setting does"
            )
        self._tell("discovered caBundle", length=len(own.certificate_authority))
        return ClusterFacts(
            name=own.name,
            endpoint=own.endpoint,
            certificate_authority=own.certificate_authority,
            version=self.version(),
            service_cidr=own.service_cidr,
        )

    def _tell(self, message: str, **fields: object) -> None:
        """Log what was found: the first time, and when it changes."""
        if self._told.get(message) != fields:
            self._told[message] = fields
            self._log(message, logger="controller.provisioner.cloudprovider", **fields)

    def _ask_server(self, _name: str) -> str:
        said = self._ask()
        known = _VERSION.match(said)
        if known is None:
            raise UnavailableError(f"the API server's version makes no sense: {said!r}")
        return known.group(1)

    def _describe(self, name: str) -> ClusterIdentity:
        """Return the settings, with what EKS tells where they are silent."""
        try:
            ask = partial(self._aws.clients.eks.describe_cluster, name=name)
            found: Mapping[str, Any] = self._aws.retries.call("eks", "DescribeCluster", ask)["cluster"]
        except (NotFoundError, InvalidError):
            return self._settings
        network = found.get("kubernetesNetworkConfig", {})
        six = network.get("ipFamily") == "ipv6"
        own = self._settings
        return ClusterIdentity(
            name=name,
            endpoint=own.endpoint or found.get("endpoint", ""),
            certificate_authority=own.certificate_authority
            or found.get("certificateAuthority", {}).get("data", ""),
            service_cidr=own.service_cidr or network.get("serviceIpv6Cidr" if six else "serviceIpv4Cidr", ""),
        )
