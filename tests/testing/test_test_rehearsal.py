"""What `treenail.testing` gives tests beyond a plain rehearsal."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from tests.scenarios.manifests import changed, deployment, node_class, node_pool, text
from treenail import testing
from treenail.adapters.embed.actions import parse_action
from treenail.testing import (
    ClusterFaults,
    Conditions,
    ConflictError,
    DomainActor,
    EC2Faults,
    InvalidError,
    NodeInitialized,
    NodeInterrupted,
    NodeLaunched,
    NodeNeverCame,
    NodeRegistered,
    PlanCommitted,
    Probe,
    RecordingError,
    RecordingTelemetry,
    Rehearsal,
    Runtime,
    check_golden,
    record,
    replay,
    timeline_text,
    trace_text,
)

Change = Callable[[dict[str, Any]], dict[str, Any]]
WORLD = text(node_class(), node_pool(), deployment("web", 3))


def runs(rehearsal: Rehearsal) -> bool:
    return rehearsal.running() == 3


def test_a_message_that_comes_is_returned_when_it_is_sent() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)

        plan = rehearsal.expect(PlanCommitted, within="10s")
        launched = rehearsal.expect(NodeLaunched, to="NodeLifecycle")

        assert [claim.name for claim in plan.claims] == [launched.claim.name]
        assert rehearsal.nodes() == ()


def test_a_message_that_does_not_come_fails_with_what_came_and_why_pods_wait() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(deployment("web", 3)))

        with pytest.raises(AssertionError) as failed:
            rehearsal.expect(NodeLaunched, within="1m")

    said = str(failed.value)
    assert said.startswith("no NodeLaunched within 1m: all heard BatchClosed, ")
    assert ", PlanCommitted, " in said
    assert " _" not in said
    assert "; at 60 s: 3 pods" in said


def test_a_message_that_went_to_another_actor_fails_with_whom_and_what_the_right_one_was_told() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)

        with pytest.raises(AssertionError) as failed:
            rehearsal.expect(NodeLaunched, within="1m", to="Batcher")

    says = "NodeLaunched went to NodeLifecycle, not to Batcher; Batcher heard PodBecamePending, PodLeft; at"
    assert str(failed.value).startswith(f"no NodeLaunched within 1m: {says}")


def test_a_message_for_which_where_does_not_hold_is_told_as_that() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)

        with pytest.raises(AssertionError, match="NodeLaunched came, for which `where` does not hold"):
            rehearsal.expect(NodeLaunched, within="1m", where=lambda m: m.claim.name == "x")


def test_a_message_that_must_not_come_fails_when_it_does() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)
        rehearsal.expect_none(NodeNeverCame, during="5m")
        rehearsal.interrupt()

        with pytest.raises(AssertionError, match="came NodeInterrupted"):
            rehearsal.expect_none(NodeInterrupted, during="5m")


def test_a_large_message_is_cut_in_the_error() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)

        with pytest.raises(AssertionError, match=r"came PlanCommitted\(decision=.*claims=.*\.\.\.") as failed:
            rehearsal.expect_none(PlanCommitted, during="5m")

    assert len(str(failed.value)) < 1000


def test_a_rehearsal_that_is_over_lets_no_time_pass_and_can_still_be_looked_at() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)
        rehearsal.run_until(lambda: runs(rehearsal))
    calls: tuple[Callable[[], object], ...] = (
        lambda: rehearsal.run("1m"),
        lambda: rehearsal.run_until(lambda: True),
        rehearsal.settle,
        lambda: rehearsal.expect(NodeLaunched),
        lambda: rehearsal.expect_none(NodeLaunched, during="1m"),
    )

    for call in calls:
        with pytest.raises(RuntimeError, match="ended with its `with` block"):
            call()
    assert runs(rehearsal)


def test_all_traces_are_complete_once_it_has_settled() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)
        rehearsal.run_until(lambda: runs(rehearsal))
        [(_, trace)] = rehearsal.decisions()
        assert "bind" not in trace_text(rehearsal, trace)

        rehearsal.settle()

        settled = trace_text(rehearsal, trace)
        assert "bind" in settled
        rehearsal.run("1h")
        assert trace_text(rehearsal, trace) == settled


def test_it_settles_though_pods_find_no_place_and_says_so_where_it_never_does() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment("web", 3, cpu="500")))
        rehearsal.settle()
        assert 60 <= rehearsal.seconds < 600
        with pytest.raises(AssertionError, match="not quiet for 1h within 2m: at "):
            rehearsal.settle("1h", within="2m")


class Counter(DomainActor[object]):
    """Counts the nodes that came into use since it was made."""

    def __init__(self, runtime: Runtime, *, to: Probe) -> None:
        super().__init__(runtime)
        self._to = to
        self._count = 0

    def handle(self, message: object) -> None:
        match message:
            case NodeInitialized():
                self._count += 1
                self.later("tell", "tell", seconds=5)
            case "tell":
                self._to.tell(self._count)


def test_an_actor_of_ones_own_is_hosted_again_with_each_start_of_the_controller() -> None:
    probe = Probe()
    conditions = Conditions(actor=lambda r: r.process.host(Counter, r.runtime, to=probe))
    with Rehearsal(seed=1, conditions=conditions) as rehearsal:
        rehearsal.apply(WORLD)
        rehearsal.run_until(lambda: runs(rehearsal))
        rehearsal.run("10s")
        rehearsal.crash()
        rehearsal.restart(after=5)
        rehearsal.scale("web", 30)
        rehearsal.run_until(lambda: rehearsal.running() == 30)
        rehearsal.run("10s")

    assert probe.of(int)[0] == 1
    assert probe.of(int)[-1] == len(rehearsal.nodes()) - 1


def test_a_node_comes_into_use_when_its_startup_taint_is_taken_off() -> None:
    startup = [{"key": "example.com/agent", "effect": "NoSchedule"}]
    waiting = changed(node_pool(), "spec.template.spec.startupTaints", startup)
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), waiting, deployment("web", 3)))
        rehearsal.expect_none(NodeInitialized, during="3m")
        with pytest.raises(ValueError, match=r"did you mean example\.com/agent"):
            rehearsal.untaint("example.com/agnet")

        [node] = rehearsal.nodes()
        assert rehearsal.untaint("example.com/agent") == (node.name,)
        rehearsal.expect(NodeInitialized, within="30s")
        rehearsal.run_until(lambda: runs(rehearsal), within="30s")
        with rehearsal.fork() as other:
            assert runs(other)


def test_startup_taints_are_taken_off_after_a_while_where_conditions_say_so(tmp_path: Path) -> None:
    startup = [{"key": "example.com/agent", "effect": "NoSchedule"}]
    waiting = changed(node_pool(), "spec.template.spec.startupTaints", startup)
    with Rehearsal(seed=1, conditions=Conditions(untainted_after=20)) as rehearsal:
        rehearsal.apply(text(node_class(), waiting, deployment("web", 3)))
        rehearsal.run_until(lambda: runs(rehearsal), within="5m")
        record(rehearsal, tmp_path / "kept.json")
    replay(tmp_path / "kept.json").check()

    with pytest.raises(ValueError, match="untainted_after: -1 is no number of seconds"):
        Conditions(untainted_after=-1)


def test_agents_take_off_startup_taints_alone_where_another_taint_has_their_key() -> None:
    spec = "spec.template.spec."
    startup = [{"key": "example.com/gpu", "effect": "NoSchedule"}]
    lasting = [{"key": "example.com/gpu", "effect": "NoExecute"}]
    pool = changed(changed(node_pool(), f"{spec}startupTaints", startup), f"{spec}taints", lasting)
    bearing = [{"key": "example.com/gpu", "operator": "Exists", "effect": "NoExecute"}]
    with Rehearsal(seed=1, conditions=Conditions(untainted_after=20)) as rehearsal:
        rehearsal.apply(
            text(node_class(), pool, changed(deployment("web", 3), f"{spec}tolerations", bearing))
        )
        rehearsal.run_until(lambda: runs(rehearsal), within="5m")

        [node] = rehearsal.nodes()
        assert [str(taint) for taint in node.taints] == ["example.com/gpu:NoExecute"]


def test_an_account_in_text_or_a_file_says_what_is_reserved_and_where_one_buys(tmp_path: Path) -> None:
    account = """
apiVersion: treenail.sh/v1alpha1
kind: Account
metadata: {name: mine}
spec:
  region: eu-west-1
  capacityReservations: [{id: cr-0e5, instanceType: m5.xlarge, zone: eu-west-1a, instances: 1}]
"""
    file = tmp_path / "account.yaml"
    file.write_text(account)
    reserved = changed(node_class(), "spec.capacityReservationSelectorTerms", [{"id": "cr-0e5"}])
    pool = node_pool(capacity_types=("reserved", "on-demand"))
    for told in (account, file):
        with Rehearsal(seed=1, conditions=Conditions(account=told)) as rehearsal:
            rehearsal.apply(text(reserved, pool, deployment("web", 3)))
            rehearsal.run_until(lambda: runs(rehearsal))
            [node] = rehearsal.history()
            assert (node.capacity_type, node.zone) == ("reserved", "eu-west-1a")


def test_what_is_no_class_of_messages_is_not_waited_for() -> None:
    with Rehearsal(seed=1) as rehearsal, pytest.raises(TypeError, match="no class of messages"):
        rehearsal.expect("NodeLaunched")  # type: ignore[arg-type]


def test_a_crash_at_a_message_comes_before_it_is_handled() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)
        rehearsal.crash_at(NodeLaunched, restart_after="10s")

        rehearsal.run_until(lambda: runs(rehearsal))

        told = [entry.event for entry in rehearsal.timeline.entries]
        assert told.index("ControllerKilled") == told.index("NodeLaunched") + 1
        assert len(rehearsal.history()) == 1


def test_a_crash_at_each_of_the_first_hundred_steps_loses_no_pod() -> None:
    for step in range(1, 100, 9):
        with Rehearsal(seed=step) as rehearsal:
            rehearsal.apply(WORLD)
            rehearsal.crash_at(step=step, restart_after=5)

            rehearsal.run_until(lambda at=rehearsal: runs(at))  # type: ignore[misc]

            assert len(rehearsal.ec2.live()) == len(rehearsal.claims())


def test_a_crash_that_never_happens_fails_at_the_end() -> None:
    rehearsal = Rehearsal(seed=1)
    rehearsal.crash_at(NodeInterrupted)
    rehearsal.run("1m")

    with pytest.raises(AssertionError, match=r"crash_at\(NodeInterrupted\): it was never sent"):
        rehearsal.__exit__(None, None, None)


def test_the_third_patch_of_a_claim_fails_and_the_claim_is_launched_all_the_same() -> None:
    failed: list[str] = []

    def of_claim(name: str, *_patch: object, **_more: object) -> bool:
        failed.append(name)
        return True

    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)
        rehearsal.fail("patch_claim", nth=3, error=ConflictError("another was first"), where=of_claim)

        rehearsal.run_until(lambda: runs(rehearsal))

        assert len(failed) > 3
        assert rehearsal.calls.made["patch_claim"] == len(failed)
        assert len(rehearsal.history()) == 1


def test_a_zone_that_is_lost_takes_its_machines_and_its_pods_move_as_on_the_command_line() -> None:
    with Rehearsal(seed=1) as rehearsal, Rehearsal(seed=1) as told:
        for one in (rehearsal, told):
            one.apply(WORLD)
            one.run_until(lambda at=one: runs(at))  # type: ignore[misc]
        [lost] = rehearsal.history()

        rehearsal.lose_zone(lost.zone)
        parse_action("0s", f"zone-lost={lost.zone}").do(told)
        rehearsal.run("10m")
        told.run("10m")

        assert runs(rehearsal)
        assert [node.zone == lost.zone for node in rehearsal.history()] == [True, False]
        assert timeline_text(rehearsal) == timeline_text(told)
        with rehearsal.fork() as again:
            assert len(again.history()) == 2


def test_a_family_that_has_run_out_is_not_bought_and_its_names_like_others_are() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.run_out("c5.*", "*")
        rehearsal.apply(text(node_class(), node_pool(families=["c5", "c5a"]), deployment("web", 3)))
        rehearsal.run_until(lambda: runs(rehearsal))

        assert {node.instance_type.partition(".")[0] for node in rehearsal.history()} == {"c5a"}


def test_a_launch_whose_answer_is_lost_buys_one_instance() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)
        rehearsal.fail("launch", done=True)

        rehearsal.run_until(lambda: runs(rehearsal))

        assert rehearsal.calls.made["launch"] == 2
        assert len(rehearsal.history()) == 1


def test_a_refused_launch_is_told_by_its_error() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)
        rehearsal.fail("launch", error=InvalidError("no such template"))

        failed = rehearsal.expect(testing.ClaimFailed)

        assert "no such template" in failed.why


def test_a_call_that_never_comes_fails_at_the_end() -> None:
    rehearsal = Rehearsal(seed=1)
    rehearsal.fail("launch")
    rehearsal.run("1m")

    with pytest.raises(AssertionError, match=r"fail\('launch'\): 0 of 1 calls failed; 0 were made"):
        rehearsal.__exit__(None, None, None)


@pytest.mark.parametrize(("call", "meant"), [("patch_clam", "patch_claim"), ("lunch", "launch")])
def test_a_call_that_there_is_not_is_refused(call: str, meant: str) -> None:
    with Rehearsal(seed=1) as rehearsal, pytest.raises(ValueError, match=f"did you mean {meant}"):
        rehearsal.fail(call)


def test_an_error_that_no_port_raises_is_refused() -> None:
    with Rehearsal(seed=1) as rehearsal, pytest.raises(TypeError, match="no PortError"):
        rehearsal.fail("launch", error=KeyError("x"))  # type: ignore[arg-type]


def test_an_invariant_is_checked_after_every_step() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.always(lambda: len(rehearsal.claims()) <= 1, "one claim at most")
        rehearsal.apply(WORLD)
        rehearsal.run_until(lambda: runs(rehearsal))
        rehearsal.interrupt()

        with pytest.raises(AssertionError, match="one claim at most does not always hold: at "):
            rehearsal.run("5m")


def test_an_observer_and_telemetry_of_ones_own_hear_what_there_is() -> None:
    probe, telemetry = Probe(), RecordingTelemetry()
    conditions = Conditions(observer=probe, telemetry=telemetry)
    with Rehearsal(seed=1, conditions=conditions) as rehearsal:
        rehearsal.apply(WORLD)
        rehearsal.run_until(lambda: runs(rehearsal))

        assert probe.expect(NodeInitialized).node == probe.expect(NodeRegistered).node
        probe.expect_none(NodeInterrupted)
        assert telemetry.spans() == rehearsal.telemetry.spans()


def test_a_cloud_of_ones_own_is_called_in_place_of_ec2() -> None:
    made: list[object] = []

    class Frugal:
        """EC2, but it never sells more than one instance in a call."""

        def __init__(self, rehearsal: testing.Rehearsal) -> None:
            self._ec2 = rehearsal.ec2
            made.append(self)

        def __getattr__(self, name: str) -> object:
            return getattr(self._ec2, name)

    with Rehearsal(seed=1, conditions=Conditions(cloud=Frugal)) as rehearsal:  # type: ignore[arg-type]
        rehearsal.apply(WORLD)
        rehearsal.run_until(lambda: runs(rehearsal))

    assert len(made) == 1


def call(name: str, *args: object) -> dict[str, object]:
    return {"at": 1.0, "step": 1, "call": name, "args": ["launch", *args], "kwargs": {}, "raised": False}


popen = {"error": "subprocess:Popen", "text": "true"}
a_class = {"class": "subprocess:Popen"}


def stormy(rehearsal: Rehearsal) -> None:
    rehearsal.apply(WORLD)
    rehearsal.crash_at(NodeLaunched, restart_after=7)
    rehearsal.fail("patch_claim", nth=2, error=ConflictError("first"))
    rehearsal.expect(NodeRegistered)
    rehearsal.scale("web", 5)
    rehearsal.run("2m")
    rehearsal.interrupt()
    rehearsal.set_faults(ec2=EC2Faults(answer_lost=0.5), cluster=ClusterFaults(conflict=0.2))
    rehearsal.ec2_under("slow", "1m")
    rehearsal.run_until(lambda: rehearsal.running() == 5)
    rehearsal.run(3.25)


def test_a_fork_is_at_the_same_point_and_goes_its_own_way() -> None:
    with Rehearsal(seed=3) as rehearsal:
        stormy(rehearsal)
        with rehearsal.fork() as other:
            assert timeline_text(other) == timeline_text(rehearsal)
            assert other.cluster.objects(testing.Pod) == rehearsal.cluster.objects(testing.Pod)
            other.scale("web", 0)
            other.run("5m")
            rehearsal.run("5m")

            assert (other.running(), rehearsal.running()) == (0, 5)


def test_a_recording_that_is_done_again_has_the_same_timeline(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with Rehearsal(seed=3) as rehearsal:
        stormy(rehearsal)
        record(rehearsal, path)

    again = replay(path)

    assert again.difference == ""
    again.check()
    assert again.rehearsal.running() == 5


def test_a_decision_that_changed_is_shown_as_a_difference(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    with Rehearsal(seed=3) as rehearsal:
        stormy(rehearsal)
        record(rehearsal, path)
    written = msgspec.json.decode(path.read_bytes())
    written["inputs"][0]["args"][0] = text(node_class(), node_pool(), deployment("web", 3, cpu="7"))
    path.write_bytes(msgspec.json.encode(written))

    again = replay(path)

    assert "--- recorded\n+++ replayed\n" in again.difference
    with pytest.raises(AssertionError, match="PlanCommitted"):
        again.check()


def test_a_replay_under_another_setting_shows_what_it_changes(tmp_path: Path) -> None:
    recorded = Conditions(ec2_faults=EC2Faults(answer_lost=0.2), settings={"BATCH_IDLE_DURATION": "1s"})
    with Rehearsal(seed=3, conditions=recorded) as rehearsal:
        stormy(rehearsal)
        record(rehearsal, tmp_path / "run.json")

    other = replay(tmp_path / "run.json", conditions=Conditions(settings={"BATCH_IDLE_DURATION": "4s"}))

    assert "BatchClosed" in other.difference
    assert other.rehearsal.given.settings == {"BATCH_IDLE_DURATION": "4s"}
    assert other.rehearsal.given.ec2_faults == recorded.ec2_faults


def test_settings_by_name_and_the_start_count_and_are_recorded_and_forked(tmp_path: Path) -> None:
    monday = datetime(2026, 5, 4, 8, tzinfo=UTC)
    conditions = Conditions(settings={"PROVISION_FOR": "pods", "BATCH_IDLE_DURATION": "5s"}, start=monday)
    with Rehearsal(seed=1, conditions=conditions) as rehearsal:
        assert rehearsal.world.now() == monday
        rehearsal.apply(WORLD)
        rehearsal.expect(testing.BatchClosed)
        assert rehearsal.seconds > 5
        assert not rehearsal.cluster.settings.tells_workloads
        rehearsal.run_until(lambda: runs(rehearsal))
        record(rehearsal, tmp_path / "told.json")
        with rehearsal.fork() as other:
            assert runs(other)

    again = replay(tmp_path / "told.json")

    again.check()
    assert again.rehearsal.given.settings == conditions.settings
    assert again.rehearsal.given.start == monday


def test_a_recording_of_an_older_version_says_nothing_of_settings(tmp_path: Path) -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.run("1m")
        record(rehearsal, tmp_path / "old.json")
    old = msgspec.json.decode((tmp_path / "old.json").read_bytes())
    for name in ("settings", "start"):
        del old["conditions"][name]
    (tmp_path / "old.json").write_bytes(msgspec.json.encode(old))

    replay(tmp_path / "old.json").check()


@pytest.mark.parametrize("where", [lambda *_: True, bool])
def test_what_json_cannot_hold_is_not_recorded(tmp_path: Path, where: Callable[..., bool]) -> None:
    with Rehearsal(seed=3) as rehearsal:
        rehearsal.run("5s")
        rehearsal.apply(WORLD)
        rehearsal.fail("launch", where=where)
        rehearsal.run("1m")

        with pytest.raises(RecordingError, match=r"fail at 5\.000 s: <\w+"):
            record(rehearsal, tmp_path / "run.json")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda w: {**w, "format": 9}, "is of format 9, and 1 is known"),
        (lambda w: {**w, "own": ["catalogue"]}, "must be given: catalogue"),
        (lambda _: {}, "missing required field"),
        (lambda w: {**w, "conditions": {}}, "cluster_faults"),
        (lambda w: {**w, "inputs": [call("__exit__")]}, "__exit__ is no input of a rehearsal"),
        (lambda w: {**w, "inputs": [call("fail", popen)]}, "no such class subprocess:Popen"),
        (lambda w: {**w, "inputs": [call("fail") | {"kwargs": {"where": a_class}}]}, "fail takes no class"),
        (lambda w: {**w, "inputs": [{}]}, "required field `at`"),
        (lambda w: {**w, "conditions": w["conditions"] | {"ec2_faults": {"slow": 7}}}, "is no probability"),
    ],
)
def test_a_recording_that_cannot_be_done_again_says_why(tmp_path: Path, change: Change, says: str) -> None:
    path = tmp_path / "run.json"
    with Rehearsal(seed=3) as rehearsal:
        record(rehearsal, path)
    path.write_bytes(msgspec.json.encode(change(msgspec.json.decode(path.read_bytes()))))

    with pytest.raises(RecordingError, match=says):
        replay(path)


def test_a_golden_file_is_written_and_compared(tmp_path: Path) -> None:
    path = tmp_path / "golden" / "web.txt"
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)
        rehearsal.run_until(lambda: runs(rehearsal))
        [(_, trace_id)] = rehearsal.decisions()
        told = timeline_text(rehearsal) + trace_text(rehearsal, trace_id)
    with pytest.raises(AssertionError, match="is not there yet"):
        check_golden(told, path)

    check_golden(told, path, update=True)
    check_golden(told, path)
    with pytest.raises(AssertionError, match=r"-decide .*\n\+decided "):
        check_golden(told.replace("decide", "decided"), path)


def test_every_name_of_the_public_face_is_there_and_says_what_it_is() -> None:
    # A union of types, such as `Outcome`, has no text of its own.
    named = [name for name in testing.__all__ if name[0].isupper() and not get_args(getattr(testing, name))]

    assert [name for name in named if not getattr(testing, name).__doc__] == []


def test_files_that_were_applied_are_part_of_a_recording(tmp_path: Path) -> None:
    world, path = tmp_path / "world.yaml", tmp_path / "run.json"
    world.write_text(WORLD)
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply_file(str(world))
        rehearsal.apply(world)
        rehearsal.run("1m")
        record(rehearsal, path)

    assert replay(path).difference == ""
    world.write_text(text(node_class()))
    with pytest.raises(RecordingError, match=r"world\.yaml is not what it was when it was applied"):
        replay(path)
