from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.ec2.discovery.account import Account
from treenail.adapters.ec2.discovery.cluster import Cluster, ClusterIdentity
from treenail.adapters.ec2.resolved import ClusterFacts
from treenail.domain.model.errors import InvalidError, UnavailableError

DESCRIBE = "eks.describe_cluster"
TOLD = ClusterFacts(
    name="demo",
    endpoint="https://demo.eks",
    certificate_authority="Q0E=",
    version="1.34",
    service_cidr="172.20.0.0/16",
)
SET = ClusterIdentity(name="demo", endpoint="https://own", certificate_authority="T1dO")


def cluster(
    account: Account, settings: ClusterIdentity | None = None, version: str = "v1.34.2+eks"
) -> Cluster:
    return Cluster(account.aws, account.caches, settings or ClusterIdentity(name="demo"), lambda: version)


def described(**network: str) -> dict[str, object]:
    return {
        "cluster": {
            "name": "demo",
            "version": "1.33",
            "endpoint": "https://demo.eks",
            "certificateAuthority": {"data": "Q0E="},
            "kubernetesNetworkConfig": {"serviceIpv4Cidr": "172.20.0.0/16", "ipFamily": "ipv4", **network},
        }
    }


def test_eks_tells_of_the_cluster_and_the_api_server_its_version(account: Account) -> None:
    account.answers(DESCRIBE, described(), name="demo")

    assert cluster(account).facts() == TOLD


def test_what_is_found_is_told_once(account: Account) -> None:
    account.answers(DESCRIBE, described(), name="demo")
    known = cluster(account)

    known.facts()
    known.facts()

    logger = {"logger": "controller.provisioner.cloudprovider"}
    assert account.lines == [
        ("discovered caBundle", {**logger, "length": 4}),
        ("discovered kubernetes version", {**logger, "version": "1.34"}),
    ]


def test_services_of_an_ipv6_cluster_have_ipv6_addresses(account: Account) -> None:
    account.answers(DESCRIBE, described(ipFamily="ipv6", serviceIpv6Cidr="fd12::/108"))

    assert cluster(account).facts() == replace(TOLD, service_cidr="fd12::/108")


def test_what_is_set_counts_before_what_eks_tells(account: Account) -> None:
    account.answers(DESCRIBE, described())

    facts = cluster(account, SET).facts()

    assert (facts.endpoint, facts.certificate_authority, facts.service_cidr) == (
        "https://own",
        "T1dO",
        "172.20.0.0/16",
    )


def test_eks_is_not_asked_where_all_is_set(account: Account) -> None:
    facts = cluster(account, replace(SET, service_cidr="10.96.0.0/12")).facts()

    assert facts.service_cidr == "10.96.0.0/12"


@pytest.mark.parametrize("code", ["ResourceNotFoundException", "AccessDeniedException"])
def test_a_cluster_that_eks_does_not_tell_of_is_known_by_its_settings(account: Account, code: str) -> None:
    account.refuses(DESCRIBE, code)

    facts = cluster(account, SET).facts()

    assert (facts.endpoint, facts.service_cidr) == ("https://own", "")


def test_without_an_endpoint_nothing_can_join(account: Account) -> None:
    account.refuses(DESCRIBE, "ResourceNotFoundException")

    with pytest.raises(InvalidError, match="cluster demo"):
        cluster(account).facts()


def test_eks_is_asked_once_in_five_minutes(account: Account) -> None:
    for _ in range(2):
        account.answers(DESCRIBE, described())
    known = cluster(account)
    known.facts()
    known.facts()
    account.time.seconds = 301

    assert known.facts() == TOLD


@pytest.mark.parametrize(("said", "version"), [("v1.34.2", "1.34"), ("1.33", "1.33"), ("1.32+", "1.32")])
def test_a_version_is_its_first_two_numbers(account: Account, said: str, version: str) -> None:
    assert cluster(account, version=said).version() == version


def test_a_version_that_is_none_is_no_answer(account: Account) -> None:
    with pytest.raises(UnavailableError, match="latest"):
        cluster(account, version="latest").version()
