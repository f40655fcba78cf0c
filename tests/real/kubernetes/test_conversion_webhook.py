"""v1beta1 over the real API server, which asks our webhook."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from copy import deepcopy
from datetime import timedelta
from typing import Any, Final, Self

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.adapters.api.conversion.drawn import of_v1, of_v1beta1
from tests.real.kubernetes.definitions import CRDS, holds, ok, place
from tests.real.kubernetes.stored_versions import converted, definition_of, killed_after, of_before
from tests.real.kubernetes.subject import install_crds, remove_crd, remove_crds
from tests.real.kubernetes.webhooks import Replica, bundles, forget_authority, stored, v1beta1
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE
from tests.real.system.controller import eventually
from treenail.adapters.controller.webhook.certificates import split
from treenail.adapters.kubernetes.definitions import CONVERTED
from treenail.adapters.kubernetes.resources import NODE_POOL

OLD_POOLS: Final = v1beta1(NODE_POOL).path()
POOLS: Final = NODE_POOL.path()
POOLS_CRD: Final = f"{CRDS}/{NODE_POOL}"
EXAMPLES: Final = 60 if settings().max_examples < 1_000 else 1_000
# Nothing is made smaller: that would ask the API server for minutes. One webhook serves all examples.
DRAWN: Final = settings(
    max_examples=EXAMPLES,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
READERS: Final = 4


def old_pool(name: str = "default", **spec: Any) -> dict[str, Any]:
    template = {
        "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        "nodeClassRef": {"name": "default"},
        "kubelet": {"maxPods": 20},
    }
    disruption = {"consolidationPolicy": "WhenUnderutilized", "expireAfter": "720h"}
    return {
        "apiVersion": "karpenter.sh/v1beta1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"template": {"spec": template}, "disruption": disruption, **spec},
    }


@pytest.fixture(scope="module")
def server(api_server: ControlPlane) -> Iterator[ControlPlane]:
    install_crds(api_server)
    yield api_server
    remove_crds(api_server)


@pytest.fixture
def replica(server: ControlPlane) -> Iterator[Replica]:
    replica = Replica(server)
    replica.settle()
    wait_until_served(server)
    yield replica
    clean(server, replica)


def clean(server: ControlPlane, *replicas: Replica) -> None:
    for resource in CONVERTED:
        server.request("DELETE", resource.path())
    for replica in replicas:
        replica.close()
    forget_authority(server)


def wait_until_served(server: ControlPlane) -> None:
    """The API server takes note of who converts a little later: until then a write in v1beta1 fails."""
    for resource in CONVERTED:
        old = {"apiVersion": v1beta1(resource).api_version, "kind": resource.kind, "metadata": {"name": "x"}}
        path = f"{v1beta1(resource).path()}?dryRun=All"
        # Refused for what it says, not for want of a conversion.
        eventually(lambda path=path, old=old: server.request("POST", path, old)[0] == 422, f"{path} fails")  # type: ignore[misc]


def bare(tree: dict[str, Any]) -> dict[str, Any]:
    """A drawn object, less what the API server gives itself, what would hold it back, and its status."""
    made = deepcopy(tree)
    made.pop("status", None)
    for field in ("uid", "finalizers"):
        made["metadata"].pop(field, None)
    return made


def path_of(tree: dict[str, Any], version: str = "") -> str:
    path = place(tree, tree["metadata"]["name"])
    return path.replace(f"/{tree['apiVersion'].partition('/')[2]}/", f"/{version}/") if version else path


@given(of_v1beta1)
@settings(DRAWN)
def test_nothing_that_v1beta1_says_is_lost(
    server: ControlPlane, replica: Replica, tree: dict[str, Any]
) -> None:
    del replica
    tree = bare(tree)
    path = path_of(tree)

    made = ok(server.request("POST", place(tree), tree))
    try:
        assert holds(made["spec"], tree["spec"])
        # Through v1: somebody who knows nothing of v1beta1 writes it back as it is.
        new = ok(server.request("GET", path_of(tree, "v1")))
        ok(server.request("PUT", path_of(tree, "v1"), new))
        back = ok(server.request("GET", path))
        assert back["spec"] == made["spec"]
        assert back["metadata"].get("annotations") == made["metadata"].get("annotations")
        for field in ("annotations", "labels"):
            assert holds(back["metadata"].get(field, {}), tree["metadata"].get(field, {}))
    finally:
        ok(server.request("DELETE", path))


@given(of_v1)
@settings(DRAWN)
def test_nothing_that_only_v1_says_is_lost_on_who_writes_v1beta1(
    server: ControlPlane, replica: Replica, tree: dict[str, Any]
) -> None:
    del replica
    tree = bare(tree)
    path = path_of(tree)

    made = ok(server.request("POST", place(tree), tree))
    try:
        old = ok(server.request("GET", path_of(tree, "v1beta1")))
        old["metadata"].setdefault("labels", {})["touched"] = "yes"
        ok(server.request("PUT", path_of(tree, "v1beta1"), old))
        back = ok(server.request("GET", path))
        assert back["spec"] == made["spec"]
        assert back["metadata"].get("annotations") == made["metadata"].get("annotations")
        assert back["metadata"]["labels"]["touched"] == "yes"
    finally:
        ok(server.request("DELETE", path))


def test_what_is_written_in_v1beta1_is_stored_in_v1_and_read_in_both(
    server: ControlPlane, replica: Replica
) -> None:
    ok(server.request("POST", OLD_POOLS, old_pool()))

    kept = ok(server.request("GET", f"{POOLS}/default"))
    back = ok(server.request("GET", f"{OLD_POOLS}/default"))

    assert stored(server, NODE_POOL)["default"]["apiVersion"] == "karpenter.sh/v1"
    assert kept["spec"]["template"]["spec"]["nodeClassRef"] == {
        "group": "karpenter.k8s.aws",
        "kind": "EC2NodeClass",
        "name": "default",
    }
    assert kept["spec"]["template"]["spec"]["expireAfter"] == "720h"
    assert back["spec"]["template"]["spec"]["kubelet"] == {"maxPods": 20}
    assert replica.defects == []


def test_what_cannot_be_converted_is_refused_with_object_and_field(
    server: ControlPlane, replica: Replica
) -> None:
    del replica
    tree = old_pool()
    tree["metadata"]["annotations"] = {"treenail.sh/v1-fields": "no JSON"}

    status, answer = server.request("POST", OLD_POOLS, tree)

    assert status == 500
    assert "NodePool default: metadata.annotations[treenail.sh/v1-fields]: is not JSON" in answer["message"]


def test_with_the_webhook_down_v1_is_served_and_v1beta1_comes_back_with_it(server: ControlPlane) -> None:
    replica = Replica(server)
    replica.settle()
    wait_until_served(server)
    ok(server.request("POST", OLD_POOLS, old_pool()))
    before = ok(server.request("GET", f"{OLD_POOLS}/default"))
    port = replica.server.port
    replica.close()

    status, answer = server.request("GET", f"{OLD_POOLS}/default")
    assert status == 500
    assert "conversion webhook for karpenter.sh/v1, Kind=NodePool failed" in answer["message"]
    assert "connection refused" in answer["message"]
    ok(server.request("PATCH", f"{POOLS}/default", {"spec": {"weight": 7}}, MERGE))
    assert ok(server.request("GET", POOLS))["items"][0]["spec"]["weight"] == 7

    again = Replica(server, port=port)
    again.settle()
    eventually(lambda: server.request("GET", f"{OLD_POOLS}/default")[0] == 200, "it does not come back")
    after = ok(server.request("GET", f"{OLD_POOLS}/default"))
    assert after["spec"] == {**before["spec"], "weight": 7}
    clean(server, again)


def test_a_certificate_that_has_expired_is_told_of_and_one_anew_is_trusted(server: ControlPlane) -> None:
    forget_authority(server)
    replica = Replica(server)
    # As one whose clock stood still: the certificate ended ten days ago, its authority lives on.
    replica.clock.ahead = -timedelta(days=40)
    replica.settle()
    ok(server.request("POST", POOLS, v1_pool()))
    path = f"{OLD_POOLS}/default"

    def message() -> str:
        return str(server.request("GET", path)[1].get("message", ""))

    eventually(lambda: "certificate has expired" in message(), message)
    assert ok(server.request("GET", f"{POOLS}/default"))["spec"]["weight"] == 3

    replica.clock.ahead = timedelta()
    replica.settle()

    eventually(lambda: server.request("GET", path)[0] == 200, message)
    clean(server, replica)


def v1_pool() -> dict[str, Any]:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template = {"requirements": [], "nodeClassRef": reference}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {"weight": 3, "template": {"spec": template}},
    }


class Load:
    """Readers and writers of v1beta1 that never rest. `failures` are what they were told instead."""

    def __init__(self, server: ControlPlane) -> None:
        self.failures: list[Any] = []
        self.done = [0] * READERS
        self._server = server
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(READERS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(60)

    def goes_on(self) -> None:
        """Wait until each has asked some twenty times more."""
        before = list(self.done)
        eventually(lambda: all(n >= m + 20 for n, m in zip(self.done, before, strict=True)), "nobody asks")

    def _run(self, number: int) -> None:
        path = f"{OLD_POOLS}/pool-{number}"
        while not self._stopping.is_set():
            weight = self.done[number] % 100 + 1
            for answer in (
                self._server.request("PATCH", path, {"spec": {"weight": weight}}, MERGE),
                self._server.request("GET", path),
            ):
                if answer[0] != 200 or answer[1]["spec"]["weight"] != weight:
                    self.failures.append(answer)
            self.done[number] += 1


def test_authorities_and_certificates_change_under_load_and_no_call_fails(server: ControlPlane) -> None:
    forget_authority(server)
    early = Replica(server)
    # Its authority is in the last third of its life today, and was not ten days ago.
    early.clock.ahead = -timedelta(days=250)
    early.turn()
    early.close()
    replicas = [Replica(server)]
    replicas[0].clock.ahead = -timedelta(days=10)
    replicas[0].settle()
    wait_until_served(server)
    for number in range(READERS):
        ok(server.request("POST", OLD_POOLS, old_pool(f"pool-{number}")))
    seen = [*bundles(server)]

    with Load(server) as load:
        load.goes_on()
        # A new authority, and a certificate from it.
        replicas[0].clock.ahead = timedelta()
        for _ in range(3):
            replicas[0].turn()
            load.goes_on()
        seen += bundles(server)
        # And again, where the Secret was lost.
        for _ in range(2):
            forget_authority(server)
            for _ in range(3):
                replicas[0].turn()
                load.goes_on()
            seen += bundles(server)

    assert load.failures == []
    assert len(set(seen)) == 4
    assert len({split(bundle)[0] for bundle in seen}) == 4
    presented = [line for line in replicas[0].said if line.startswith("issued webhook certificate")]
    assert len(presented) == 4
    clean(server, *replicas)


# --- what was stored before


def test_what_was_stored_in_v1beta1_stands_in_v1_once_the_user_says_so(server: ControlPlane) -> None:
    remove_crd(server, str(NODE_POOL))
    ok(server.request("POST", CRDS, of_before(NODE_POOL)))
    eventually(lambda: server.request("GET", OLD_POOLS)[0] == 200, "v1beta1 is not served")
    names = [f"pool-{n}" for n in range(130)]
    for name in names:
        ok(server.request("POST", OLD_POOLS, old_pool(name)))
    before = {name: ok(server.request("GET", f"{OLD_POOLS}/{name}")) for name in names}
    assert {o["apiVersion"] for o in stored(server, NODE_POOL).values()} == {"karpenter.sh/v1beta1"}
    ok(server.request("PATCH", POOLS_CRD, definition_of(NODE_POOL), MERGE))

    replica = Replica(server)
    replica.settle()
    wait_until_served(server)
    assert ok(server.request("GET", POOLS_CRD))["status"]["storedVersions"] == ["v1beta1", "v1"]
    assert {o["apiVersion"] for o in stored(server, NODE_POOL).values()} == {"karpenter.sh/v1beta1"}

    killed_after(server, lambda done: 0 < done < len(names))
    assert ok(server.request("GET", POOLS_CRD))["status"]["storedVersions"] == ["v1beta1", "v1"]
    ran = converted(server)

    assert ran.returncode == 0, ran
    assert "nodepools.karpenter.sh: stored in v1beta1, v1; 130 written anew in v1\n" in ran.stdout
    assert ok(server.request("GET", POOLS_CRD))["status"]["storedVersions"] == ["v1"]
    assert {o["apiVersion"] for o in stored(server, NODE_POOL).values()} == {"karpenter.sh/v1"}
    after = {name: ok(server.request("GET", f"{OLD_POOLS}/{name}")) for name in names}
    for name in names:
        assert after[name]["spec"] == before[name]["spec"]
        assert after[name]["metadata"]["uid"] == before[name]["metadata"]["uid"]
    back = converted(server, "v1beta1")
    assert back.returncode == 0, back
    assert {o["apiVersion"] for o in stored(server, NODE_POOL).values()} == {"karpenter.sh/v1beta1"}
    assert {n: o["spec"] for n, o in stored(server, NODE_POOL).items()} == {
        name: before[name]["spec"] for name in names
    }
    clean(server, replica)


def test_a_dry_run_converts_each_object_and_has_v1beta1_s_schema_hold_but_stores_none(
    server: ControlPlane, replica: Replica
) -> None:
    del replica
    # Whatever was stored before: only what is stored in another version is converted.
    assert converted(server, "v1").returncode == 0
    node_class = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    spec = {"requirements": [], "nodeClassRef": node_class, "terminationGracePeriod": "1h"}
    pool = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}
    template = {"template": {"spec": spec}}
    ok(server.request("POST", POOLS, {**pool, "metadata": {"name": "plain"}, "spec": template}))
    before = stored(server, NODE_POOL)

    ran = converted(server, "v1beta1", "--dry-run")

    assert ran.returncode == 0, ran
    kept = "an annotation that only Treenail reads keeps"
    (said,) = [line for line in ran.stdout.splitlines() if line.startswith("NodePool/plain: ")]
    assert said.startswith(f"NodePool/plain: can be stored in v1beta1; {kept} ")
    assert "spec.template.spec.terminationGracePeriod" in said
    assert stored(server, NODE_POOL) == before
