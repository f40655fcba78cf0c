from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.controller.test_controller import EXAMPLE, House, until
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.controller.failures import Failures
from treenail.adapters.controller.namespace import lease_namespace
from treenail.adapters.runtime.clock import SystemClock, seconds_awake_or_not
from treenail.adapters.settings.sources import read_settings
from treenail.domain.leadership.lease import Lease
from treenail.domain.model.errors import NotLeadingError

NAME = "karpenter-leader-election"
KARPENTER = "karpenter-7f9c6d_0b1e"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    with house.lab.agenda.lock:
        house.lab.cluster.apply(*decode_all(parse_manifests(EXAMPLE.read_bytes(), "example")).objects())
    yield house
    house.close()


def hold(house: House) -> Lease:
    with house.lab.agenda.lock:
        return house.lab.cluster.lease(NAME).write(Lease(holder=KARPENTER, seconds=15), over=None)


def the_lease(house: House) -> Lease:
    with house.lab.agenda.lock:
        lease = house.lab.cluster.lease(NAME).read()
    assert lease is not None
    return lease


def master(house: House) -> bool:
    return f'leader_election_master_status{{name="{NAME}"}} 1.0' in house.get("/metrics", metrics=True)[1]


def test_while_karpenter_holds_the_lease_nothing_is_bought_and_the_replica_says_so_and_is_ready(
    house: House,
) -> None:
    hold(house)
    house.start()

    waiting = f"ok: waiting for the lease kube-system/{NAME}, which another program ({KARPENTER}: Karpenter?)"
    until(lambda: house.get("/readyz") == (200, f"{waiting} holds\n"))

    assert house.get("/healthz") == (200, "ok\n")
    assert not master(house)
    (line,) = house.lines("another holds the lease: waiting")
    assert line["holder"] == KARPENTER
    assert house.lab.instances() == 0
    assert house.lab.ground is not None
    with pytest.raises(NotLeadingError):
        house.lab.ground.tenure.check()


def test_when_karpenter_gives_the_lease_up_the_replica_leads_and_acts(house: House) -> None:
    theirs = hold(house)
    house.start()
    until(lambda: bool(house.lines("another holds the lease: waiting")))
    with house.lab.agenda.lock:
        house.lab.cluster.lease(NAME).write(theirs.given_up(), over=theirs)

    until(lambda: house.lab.running() == 5)

    assert master(house)
    assert house.get("/readyz") == (200, "ok\n")
    assert the_lease(house).transitions == 1


def test_a_replica_that_is_told_to_end_gives_the_lease_up(house: House) -> None:
    house.start()
    until(lambda: house.lab.running() == 5)
    assert the_lease(house).holder.startswith("treenail_")

    house.controller.stop()

    assert house.end() == 0
    assert (the_lease(house).holder, the_lease(house).seconds) == ("", 1)
    assert house.lines("the lease was given up")


def test_a_candidate_that_is_told_to_end_leaves_the_lease_to_its_holder(house: House) -> None:
    hold(house)
    house.start()
    until(lambda: bool(house.lines("another holds the lease: waiting")))

    house.controller.stop()

    assert house.end() == 0
    assert the_lease(house).holder == KARPENTER


def test_a_lease_that_is_lost_ends_the_process_and_counts_as_no_failure_of_it(house: House) -> None:
    house.start()
    until(lambda: house.get("/readyz") == (200, "ok\n"))
    with house.lab.agenda.lock:
        lease = the_lease(house)
        house.lab.cluster.lease(NAME).write(Lease(holder=KARPENTER, seconds=15), over=lease)

    assert house.end() == 1

    (line,) = house.lines("the process fails")
    assert line["error"] == f"LeaseLostError: the lease kube-system/{NAME} is lost: it is {KARPENTER}'s now"
    assert Failures(house.directory, SystemClock()).recent() == 0
    assert the_lease(house).holder == KARPENTER


def test_a_replica_that_cannot_ask_for_the_lease_is_not_ready_and_says_why(house: House) -> None:
    with house.lab.agenda.lock:
        house.lab.cluster.unavailable_until(house.lab.agenda.monotonic() + 3_600)
    house.start()

    why = f"nothing is known of the lease kube-system/{NAME}: the API server does not answer\n"
    until(lambda: house.get("/readyz") == (503, why))


@pytest.mark.parametrize(("said", "lines"), [("DISABLE_LEADER_ELECTION", 1), ("", 0)])
def test_where_no_leader_is_elected_it_acts_at_once_and_warns(tmp_path: Path, said: str, lines: int) -> None:
    house = House(tmp_path, **({said: "true"} if said else {}))
    house.start()
    until(lambda: house.get("/readyz") == (200, "ok\n"))
    house.close()

    warnings = [line for line in house.log.getvalue().splitlines() if "no leader is elected" in line]
    assert len(warnings) == lines
    assert all(json.loads(line)["level"] == "WARNING" for line in warnings)


@pytest.mark.parametrize(
    ("said", "account", "where"),
    [
        ({"LEADER_ELECTION_NAMESPACE": "here"}, "pods", "here"),
        ({"SYSTEM_NAMESPACE": "system"}, "pods", "pods"),
        ({"SYSTEM_NAMESPACE": "system"}, None, "system"),
        ({}, None, "kube-system"),
    ],
)
def test_the_lease_is_where_karpenter_looks_for_it(
    said: dict[str, str], account: str | None, where: str, tmp_path: Path
) -> None:
    file = tmp_path / "namespace"
    if account is not None:
        file.write_text(account)

    settings = read_settings({"CLUSTER_NAME": "demo", **said}, {})

    assert lease_namespace(settings, account=file) == where


def test_the_clock_of_the_lease_goes_on_while_the_machine_sleeps() -> None:
    uptime = float(Path("/proc/uptime").read_text().split()[0])

    assert abs(seconds_awake_or_not() - uptime) < 1
