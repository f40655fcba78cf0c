from __future__ import annotations

from dataclasses import replace

from tests.builders import at, bound_pod, spec
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.cluster.daemon_sizes import DaemonSizes
from treenail.domain.model.pods import Owner, Pod

AGENT = DaemonSet(uid="ds", name="agent", spec=spec(1))


def daemon(uid: str, cpu: str | int, *, created: float = 0, unread: str = "") -> Pod:
    owner = Owner(kind="DaemonSet", name="agent", uid="ds", api_version="apps/v1", controller=True)
    pod = bound_pod(uid, "n1", cpu)
    return replace(pod, owners=(owner,), created_at=at(created), unread=unread)


def test_a_daemon_set_is_as_large_as_its_youngest_pod() -> None:
    sizes = DaemonSizes()

    assert sizes.note(daemon("p1", 3, created=1)) == "ds"
    assert sizes.sized(AGENT).spec.requests["cpu"] == 3000
    assert sizes.note(daemon("p0", 4, created=0)) == ""
    assert sizes.note(daemon("p2", 2, created=2)) == "ds"
    assert sizes.sized(AGENT).spec.requests["cpu"] == 2000


def test_a_daemon_set_is_never_smaller_than_its_template() -> None:
    sizes = DaemonSizes()
    sizes.note(daemon("p1", "500m"))

    assert sizes.sized(AGENT) is AGENT


def test_what_a_pod_that_is_not_understood_requests_says_nothing() -> None:
    sizes = DaemonSizes()

    assert sizes.note(daemon("p1", 9, unread="odd")) == ""
    assert sizes.sized(AGENT) is AGENT


def test_pods_of_others_say_nothing_of_a_daemon_set() -> None:
    sizes = DaemonSizes()

    assert sizes.note(bound_pod("p1", "n1", 9)) == ""
    assert sizes.sized(AGENT) is AGENT


def test_a_daemon_set_that_is_forgotten_is_as_its_template_says() -> None:
    sizes = DaemonSizes()
    sizes.note(daemon("p1", 3))

    sizes.forget("ds")

    assert sizes.sized(AGENT).spec.requests == AGENT.spec.requests
    assert sizes.note(daemon("p1", 3)) == "ds"
