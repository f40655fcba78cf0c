from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.adapters.controller.webhook.scripted import (
    SECRET_PATH,
    SERVICE,
    HandClock,
    Replica,
    Server,
    bundles,
    definition_path,
)
from treenail.adapters.controller.webhook.certificates import split
from treenail.adapters.kubernetes.definitions import CONVERTED
from treenail.adapters.kubernetes.resources import NODE_CLAIM, NODE_POOL
from treenail.domain.model.errors import ConflictError, UnavailableError


@pytest.fixture
def server() -> Server:
    server = Server()
    for resource in CONVERTED:
        server.define(resource)
    return server


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def replica(server: Server, clock: HandClock) -> Replica:
    return Replica(server, clock)


def settled(*replicas: Replica) -> None:
    for _ in range(4):
        turns = [replica.turn() for replica in replicas]
        if all(turns):
            return
    raise AssertionError([replica.said for replica in replicas])


def trusted(server: Server, replica: Replica) -> bool:
    """Whether the API server trusts what a replica presents, whichever kind is asked for."""
    return all(replica.certificate.issuer in split(bundle) for bundle in bundles(server))


def test_the_definitions_are_told_where_conversions_are_served_and_whom_to_trust(
    server: Server, replica: Replica
) -> None:
    assert not replica.turn()
    assert replica.turn()

    assert trusted(server, replica)
    for resource in CONVERTED:
        conversion = server.objects[definition_path(resource)]["spec"]["conversion"]
        assert conversion["strategy"] == "Webhook"
        assert conversion["webhook"]["conversionReviewVersions"] == ["v1"]
        assert conversion["webhook"]["clientConfig"].items() >= SERVICE.items()


def test_when_all_is_well_nothing_is_written(server: Server, replica: Replica, clock: HandClock) -> None:
    settled(replica)
    server.writes.clear()

    clock.pass_days(1)

    assert replica.turn()
    assert server.writes == []
    assert len(replica.presented) == 1


def test_replicas_share_one_authority_and_leave_each_others_work_alone(
    server: Server, replica: Replica, clock: HandClock
) -> None:
    other = Replica(server, clock)

    settled(replica, other)

    assert replica.certificate.issuer == other.certificate.issuer
    assert replica.certificate.pem != other.certificate.pem
    assert [path for _, path in server.writes].count(SECRET_PATH) == 1
    assert len(server.writes) == 1 + len(CONVERTED)


def test_a_replica_that_was_a_little_slower_takes_the_authority_of_the_other(
    server: Server, replica: Replica, clock: HandClock
) -> None:
    other = Replica(server, clock)

    def overtaken(method: str, _path: str) -> None:
        if method == "POST":
            server.before = lambda _method, _path: None
            other.turn()

    server.before = overtaken
    settled(replica, other)

    assert replica.certificate.issuer == other.certificate.issuer
    assert trusted(server, replica)


def test_a_certificate_is_renewed_before_it_ends(replica: Replica, clock: HandClock, server: Server) -> None:
    settled(replica)
    first = replica.certificate

    clock.pass_days(19)
    assert replica.turn()
    assert replica.certificate is first

    clock.pass_days(2)
    assert replica.turn()

    assert replica.certificate is not first
    assert replica.certificate.until > first.until
    assert replica.certificate.issuer == first.issuer
    assert trusted(server, replica)


def test_a_new_authority_vouches_for_nothing_before_it_is_trusted(
    server: Server, replica: Replica, clock: HandClock
) -> None:
    settled(replica)
    old = replica.certificate.issuer
    for _ in range(12):
        clock.pass_days(20)
        settled(replica)
    assert replica.certificate.issuer == old

    clock.pass_days(5)
    refused = definition_path(NODE_CLAIM)
    server.before = lambda method, path: _refuse(method, path, refused)
    with pytest.raises(UnavailableError):
        replica.turn()
    with pytest.raises(UnavailableError):
        replica.turn()
    assert replica.certificate.issuer == old

    server.before = lambda _method, _path: None
    settled(replica)

    assert replica.certificate.issuer != old
    assert trusted(server, replica)
    # What other replicas serve still counts.
    assert all(old in split(bundle) for bundle in bundles(server))


def _refuse(method: str, path: str, refused: str) -> None:
    if (method, path) == ("PATCH", refused):
        raise UnavailableError("not now")


def test_at_every_moment_of_two_years_what_two_replicas_serve_is_trusted(
    server: Server, replica: Replica, clock: HandClock
) -> None:
    other = Replica(server, clock)
    settled(replica, other)

    for day in range(730):
        clock.pass_days(1)
        for each in (replica, other) if day % 2 else (other, replica):
            each.turn()
            for served in (replica, other):
                assert not served.certificate.ended(clock.now())
                assert trusted(server, served)

    authorities = {served.issuer for served in replica.presented}
    assert len(authorities) == 3
    assert len(split(bundles(server)[0])) <= 2


def test_one_that_slept_for_years_begins_anew(server: Server, replica: Replica, clock: HandClock) -> None:
    settled(replica)
    old = replica.certificate

    clock.pass_days(1000)
    settled(replica)

    assert not replica.certificate.ended(clock.now())
    assert replica.certificate.issuer != old.issuer
    assert trusted(server, replica)
    assert len(split(bundles(server)[0])) == 1


def test_when_the_secret_is_lost_what_replicas_serve_is_trusted_still(
    server: Server, replica: Replica, clock: HandClock
) -> None:
    other = Replica(server, clock)
    settled(replica, other)
    old = replica.certificate.issuer
    del server.objects[SECRET_PATH]

    for _ in range(4):
        for each in (replica, other):
            each.turn()
            assert trusted(server, replica)
            assert trusted(server, other)

    assert replica.certificate.issuer == other.certificate.issuer != old


@pytest.mark.parametrize(
    "data",
    [
        {"ca.crt": "no base64", "ca.key": "?"},
        {"ca.crt": base64.b64encode(b"no certificate").decode(), "ca.key": ""},
    ],
)
def test_a_secret_that_holds_no_authority_is_written_anew(
    server: Server, replica: Replica, data: dict[str, str]
) -> None:
    server.put(SECRET_PATH, {"data": data})

    settled(replica)

    assert trusted(server, replica)
    assert "webhook's authority cannot be read" in replica.said


def test_a_secret_that_ships_empty_is_filled_without_complaint(server: Server, replica: Replica) -> None:
    server.put(SECRET_PATH, {"type": "Opaque"})

    settled(replica)

    assert trusted(server, replica)
    assert "webhook's authority cannot be read" not in replica.said
    assert ("POST", SECRET_PATH) not in server.writes


def test_a_key_of_another_authority_is_not_used(server: Server, replica: Replica, clock: HandClock) -> None:
    settled(replica)
    strange = Server()
    Replica(strange, clock).turn()
    key = strange.objects[SECRET_PATH]["data"]["ca.key"]
    kept = server.objects[SECRET_PATH]
    server.put(SECRET_PATH, {**kept, "data": {**kept["data"], "ca.key": key}})
    other = Replica(server, clock)

    settled(other, replica)

    assert trusted(server, other)
    assert trusted(server, replica)


def test_what_others_write_in_between_is_kept(server: Server, replica: Replica) -> None:
    path = definition_path(NODE_POOL)

    def overtaken(method: str, where: str) -> None:
        if (method, where) == ("PATCH", path):
            server.before = lambda _method, _path: None
            server.put(path, {**server.objects[path], "spec": {**server.objects[path]["spec"], "mark": 1}})

    server.before = overtaken
    settled(replica)

    assert server.objects[path]["spec"]["mark"] == 1
    assert trusted(server, replica)


def test_a_secret_that_others_write_all_the_time_is_given_up_for_now(
    server: Server, replica: Replica
) -> None:
    server.refusals["/api/v1/namespaces/kube-system/secrets"] = [ConflictError("busy")] * 5

    with pytest.raises(ConflictError, match="kube-system/treenail-webhook"):
        replica.turn()
    settled(replica)


def test_a_definition_that_is_missing_is_told_of_once_and_found_later(
    server: Server, replica: Replica
) -> None:
    del server.objects[definition_path(NODE_CLAIM)]

    turns = [replica.turn() for _ in range(3)]
    server.define(NODE_CLAIM)
    settled(replica)

    assert turns == [False, False, False]
    assert sum("not found" in line for line in replica.said) == 1
    assert trusted(server, replica)


def test_a_place_of_another_kind_is_taken_out(server: Server, replica: Replica) -> None:
    path = definition_path(NODE_POOL)
    client = {"url": "https://elsewhere/convert", "caBundle": "AAAA"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    there = server.objects[path]
    conversion = {"strategy": "Webhook", "webhook": webhook}
    server.put(path, {**there, "spec": {**there["spec"], "conversion": conversion}})

    settled(replica)

    assert "url" not in server.objects[path]["spec"]["conversion"]["webhook"]["clientConfig"]


# --- what is the user's to decide


def test_what_is_stored_in_v1beta1_is_said_once_and_left_so(server: Server, replica: Replica) -> None:
    server.define(NODE_POOL, stored=("v1beta1", "v1"))
    server.put(NODE_POOL.path("a"), {"spec": {}})

    settled(replica)
    replica.turn()

    assert server.objects[definition_path(NODE_POOL)]["status"]["storedVersions"] == ["v1beta1", "v1"]
    assert not any(NODE_POOL.path("a") in path for _, path in server.writes)
    [told] = [f for said, f in zip(replica.said, replica.fields, strict=True) if "takeover convert" in said]
    assert told["definitions"] == ["nodepools.karpenter.sh"]


@pytest.mark.parametrize(
    "conversion",
    [
        {"strategy": "None"},
        {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {
                    "service": {
                        "name": "karpenter",
                        "namespace": "kube-system",
                        "path": "/conversion/karpenter.sh",
                    }
                }
            },
        },
    ],
    ids=["by none", "by Karpenter"],
)
def test_a_definition_that_another_converts_is_left_to_it(
    server: Server, replica: Replica, conversion: dict[str, Any]
) -> None:
    path = definition_path(NODE_POOL)
    there = server.objects[path]
    server.put(path, {**there, "spec": {**there["spec"], "conversion": conversion}})

    turns = [replica.turn() for _ in range(3)]

    assert server.objects[path]["spec"]["conversion"] == conversion
    assert turns == [False, False, False]
    assert sum("another webhook" in line for line in replica.said) == 1
    assert ("PATCH", definition_path(NODE_CLAIM)) in server.writes
