from __future__ import annotations

import threading
import traceback

import pytest
from botocore.exceptions import (
    BotoCoreError,
    EndpointConnectionError,
    MetadataRetrievalError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
    ReadTimeoutError,
    RefreshWithMFAUnsupportedError,
    SSOTokenLoadError,
    UnauthorizedSSOTokenError,
)
from botocore.parsers import ResponseParserError

from tests.adapters.ec2.refusals import THROTTLED, Script, SleptTime, refusal
from tests.probes import PlainDice
from treenail.adapters.ec2.call_errors import code_of, message_of
from treenail.adapters.ec2.call_limits import CHANGING, LIMITS
from treenail.adapters.ec2.call_retries import CallRetries
from treenail.domain.model.errors import (
    AlreadyExistsError,
    InvalidError,
    NotFoundError,
    NotLeadingError,
    PortError,
    TooManyRequestsError,
    UnavailableError,
)
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.rate_limits import Limit
from treenail.domain.telemetry.call_delays import noting_delays
from treenail.domain.telemetry.delays import CallDelay, DelayCause

LOST = ReadTimeoutError(endpoint_url="https://ec2.us-east-1.amazonaws.com/")


def retries_of(time: SleptTime) -> CallRetries:
    return CallRetries(time, PlainDice(), sleep=time.sleep)


def test_a_call_passes_at_once_and_tells_what_it_took() -> None:
    time = SleptTime()

    passed = retries_of(time).ask("ec2", "CreateFleet", Script("fleet-1"))

    assert (passed.value, passed.waited_seconds, passed.attempts) == ("fleet-1", 0.0, 1)
    assert time.slept == []


def test_calls_beyond_the_burst_wait_for_the_rate() -> None:
    time = SleptTime()
    retries = retries_of(time)

    waits = [retries.ask("ec2", "CreateFleet", lambda: 1).waited_seconds for _ in range(52)]

    assert waits[:50] == [0.0] * 50
    assert waits[50:] == pytest.approx([0.2, 0.2])


@pytest.mark.parametrize(
    ("action", "burst"),
    [("DescribeInstances", 100), ("CreateLaunchTemplate", 50), ("TerminateInstances", 100)],
)
def test_reading_changing_and_terminating_are_granted_apart(action: str, burst: int) -> None:
    time = SleptTime()
    retries = retries_of(time)
    for _ in range(50):
        retries.call("ec2", "CreateFleet", lambda: 1)

    free = 0
    while retries.ask("ec2", action, lambda: 1).waited_seconds == 0:
        free += 1

    shared = 50 if action == "CreateLaunchTemplate" else 0
    assert free == burst - shared


def test_services_are_granted_apart() -> None:
    time = SleptTime()
    retries = retries_of(time)
    for _ in range(100):
        retries.call("ec2", "DescribeSubnets", lambda: 1)

    assert retries.ask("ssm", "GetParameter", lambda: 1).waited_seconds == 0


def test_whoever_asks_for_a_call_hears_of_permits_and_throttling_within_it() -> None:
    time, heard = SleptTime(), list[CallDelay]()
    retries = retries_of(time)
    for _ in range(50):
        retries.call("ec2", "CreateFleet", lambda: 1)

    noting_delays(lambda: retries.call("ec2", "CreateFleet", Script(THROTTLED, THROTTLED, 1)), heard)()

    assert {one.what for one in heard} == {"EC2/CreateFleet"}
    throttled = [one for one in heard if one.cause is DelayCause.THROTTLED]
    assert [one.attempts for one in throttled] == [1, 1]
    assert all(one.seconds > 0 and "CreateFleet" in one.why for one in throttled)
    assert any(one.cause is DelayCause.RATE_LIMIT and one.seconds >= 0.2 for one in heard)
    assert sum(one.seconds for one in heard) == pytest.approx(sum(time.slept))


def slow_retries(time: SleptTime) -> CallRetries:
    """One call now, the next in a hundred seconds."""
    return CallRetries(time, PlainDice(), sleep=time.sleep, limits={**LIMITS, CHANGING: Limit(0.01, 1)})


def test_whoever_finds_no_permit_within_half_a_minute_is_refused_at_once_and_does_nothing() -> None:
    time = SleptTime()
    retries = slow_retries(time)
    calls = Script(1, 2)
    retries.call("ec2", "CreateFleet", calls)

    with pytest.raises(TooManyRequestsError, match=r"no permit for ec2:CreateFleet within 30 s"):
        retries.call("ec2", "CreateFleet", calls)

    assert (calls.calls, time.slept) == (1, [])


def test_a_call_that_got_no_answer_and_then_no_permit_may_have_been_carried_out() -> None:
    with pytest.raises(UnavailableError, match="no answer to ec2:CreateFleet"):
        slow_retries(SleptTime()).call("ec2", "CreateFleet", Script(LOST, 1))


def test_a_call_that_got_no_answer_and_then_was_throttled_may_have_been_carried_out() -> None:
    with pytest.raises(UnavailableError, match="no answer to ec2:CreateFleet"):
        retries_of(SleptTime()).call("ec2", "CreateFleet", Script(LOST, *[THROTTLED] * 3))


def test_a_throttled_call_is_made_again_after_a_pause_and_with_a_new_permit() -> None:
    time = SleptTime()

    passed = retries_of(time).ask("ec2", "CreateFleet", Script(THROTTLED, THROTTLED, "fleet-1"))

    assert (passed.value, passed.attempts) == ("fleet-1", 3)
    pauses, permits = 0.1 + 0.4, passed.waited_seconds
    assert time.seconds == pytest.approx(pauses + permits)
    assert permits > 0.2  # half the rate, and what came back before is lost


def test_throttling_makes_the_next_caller_wait_too() -> None:
    time = SleptTime()
    retries = retries_of(time)
    with pytest.raises(TooManyRequestsError):
        retries.call("ec2", "CreateFleet", Script(*[THROTTLED] * 4))

    assert retries.ask("ec2", "CreateLaunchTemplate", lambda: 1).waited_seconds > 0
    assert retries.ask("ec2", "DescribeSubnets", lambda: 1).waited_seconds == 0


@pytest.mark.parametrize("failure", [LOST, refusal("InternalError", status=500), ResponseParserError("html")])
def test_four_attempts_without_an_answer_are_all_there_are(failure: Exception) -> None:
    time = SleptTime()
    script = Script(*[failure] * 5)

    with pytest.raises(UnavailableError):
        retries_of(time).call("ec2", "CreateFleet", script)

    assert script.calls == 4
    assert time.seconds == pytest.approx(0.1 + 0.4 + 1.6)


def test_no_attempt_begins_when_half_a_minute_is_over() -> None:
    time = SleptTime()
    calls = 0

    def slow() -> None:
        nonlocal calls
        calls += 1
        time.seconds += 20.0
        raise LOST

    with pytest.raises(UnavailableError):
        retries_of(time).call("ec2", "CreateFleet", slow)
    assert calls == 2


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (THROTTLED, TooManyRequestsError),
        (refusal("Throttling"), TooManyRequestsError),
        (refusal("SomethingNew", status=429), TooManyRequestsError),
        (refusal("Unavailable", status=503), UnavailableError),
        (refusal("SomethingNew", status=502), UnavailableError),
        (refusal("ExpiredToken"), UnavailableError),
        (refusal("AuthFailure", status=401), UnavailableError),
        (refusal("InvalidIdentityToken"), UnavailableError),
        (refusal("IDPCommunicationError"), UnavailableError),
        (refusal("AccessDenied", status=403, operation="AssumeRoleWithWebIdentity"), UnavailableError),
        (refusal("ValidationError", operation="AssumeRole"), UnavailableError),
        (refusal("Throttling", operation="AssumeRole"), UnavailableError),
        (NoCredentialsError(), UnavailableError),
        (UnauthorizedSSOTokenError(), UnavailableError),
        (SSOTokenLoadError(error_msg="x"), UnavailableError),
        (MetadataRetrievalError(error_msg="x"), UnavailableError),
        (RefreshWithMFAUnsupportedError(), UnavailableError),
        (EndpointConnectionError(endpoint_url="https://ec2"), UnavailableError),
        (refusal("UnauthorizedOperation", status=403), InvalidError),
        (refusal("AuthFailure.ServiceLinkedRoleCreationNotPermitted", status=403), InvalidError),
        (refusal("InvalidParameterValue"), InvalidError),
        (refusal("IdempotentParameterMismatch"), InvalidError),
        (ParamValidationError(report="Missing required parameter"), InvalidError),
        (refusal("InvalidLaunchTemplateName.NotFoundException"), NotFoundError),
        (refusal("InvalidInstanceID.NotFound"), NotFoundError),
        (refusal("NoSuchEntity", status=404), NotFoundError),
        (refusal("InvalidLaunchTemplateName.AlreadyExistsException"), AlreadyExistsError),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value)[:60],
)
def test_a_failure_is_one_that_the_ports_know(failure: Exception, kind: type[PortError]) -> None:
    with pytest.raises(PortError) as raised:
        retries_of(SleptTime()).call("ec2", "CreateFleet", Script(*[failure] * 4))

    assert type(raised.value) is kind


@pytest.mark.parametrize("code", ["UnauthorizedOperation", "ExpiredToken", "InvalidParameterValue"])
def test_what_is_sure_to_be_refused_again_is_not_tried_again(code: str) -> None:
    script = Script(*[refusal(code, status=403)] * 4)

    with pytest.raises(PortError):
        retries_of(SleptTime()).call("ec2", "CreateFleet", script)

    assert script.calls == 1


def test_a_refusal_can_be_told_by_its_code() -> None:
    with pytest.raises(
        InvalidError, match=r"InvalidParameterValue: bad subnet \(ec2:CreateFleet\)"
    ) as raised:
        retries_of(SleptTime()).call(
            "ec2", "CreateFleet", Script(refusal("InvalidParameterValue", "bad subnet"))
        )

    assert code_of(raised.value) == "InvalidParameterValue"
    assert message_of(raised.value) == "bad subnet"


@pytest.mark.parametrize("code", ["SignatureDoesNotMatch", "InvalidClientTokenId", "IncompleteSignature"])
def test_nothing_secret_is_told_of_credentials_that_are_not_accepted(code: str) -> None:
    told = refusal(code, "The Canonical String was\nx-amz-security-token:FwoGZXIvYXdzEXAMPLE", status=403)

    with pytest.raises(UnavailableError) as raised:
        retries_of(SleptTime()).call("ec2", "CreateFleet", Script(told))

    everything = "".join(traceback.format_exception(raised.value))
    assert "FwoGZXIvYXdzEXAMPLE" not in everything
    assert code in everything


def test_the_blob_of_a_missing_permission_is_left_out() -> None:
    said = "You are not authorized. Encoded authorization failure message: " + "x" * 2000
    with pytest.raises(InvalidError) as raised:
        retries_of(SleptTime()).call(
            "ec2", "CreateFleet", Script(refusal("UnauthorizedOperation", said, status=403))
        )

    assert str(raised.value) == "UnauthorizedOperation: You are not authorized. (ec2:CreateFleet)"


@pytest.mark.parametrize("defect", [NoRegionError(), KeyError("x"), BotoCoreError()])
def test_a_defect_of_ours_is_not_dressed_up(defect: Exception) -> None:
    with pytest.raises(type(defect)):
        retries_of(SleptTime()).call("ec2", "CreateFleet", Script(defect))


def test_threads_share_the_permits() -> None:
    time = SleptTime()
    retries = CallRetries(time, PlainDice(), sleep=time.sleep, limits={**LIMITS, CHANGING: Limit(5, 8)})
    start = threading.Barrier(8)
    made: list[float] = []

    def work() -> None:
        start.wait()
        for _ in range(10):
            retries.call("ec2", "CreateFleet", lambda: made.append(time.seconds))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    # Time passes for all when one of them sleeps, so that it may pass faster than it must, never slower.
    assert len(made) == 80
    assert max(made) >= (80 - 8) / 5 - 0.01


def test_who_is_in_a_hurry_goes_before_those_who_have_waited_longer() -> None:
    time, order = SleptTime(), list[str]()
    retries = CallRetries(
        time, PlainDice(), limits={**LIMITS, "TerminateInstances": Limit(5, 1)}, sleep=lambda _: hurry()
    )

    def hurry() -> None:
        """Sleep, and have somebody else ask meanwhile."""
        if not order[1:]:
            order.append("asked meanwhile")
            retries.call(
                "ec2", "TerminateInstances", lambda: order.append("gone first"), purpose=Purpose.INTERRUPTION
            )
        time.sleep(0.2)

    retries.call("ec2", "TerminateInstances", lambda: order.append("burst"))
    retries.call(
        "ec2", "TerminateInstances", lambda: order.append("housekeeping"), purpose=Purpose.HOUSEKEEPING
    )

    assert order == ["burst", "asked meanwhile", "gone first", "housekeeping"]


def test_what_a_call_is_about_is_counted_too() -> None:
    time = SleptTime()
    retries = retries_of(time)
    for _ in range(2):
        retries.call("ec2", "TerminateInstances", lambda: 1, resources=500)

    assert retries.ask("ec2", "TerminateInstances", lambda: 1, resources=100).waited_seconds == pytest.approx(
        5.0
    )


def test_a_rate_that_fell_rises_again_within_a_minute() -> None:
    time = SleptTime()
    retries = retries_of(time)
    with pytest.raises(TooManyRequestsError):
        retries.call("ec2", "CreateFleet", Script(*[THROTTLED] * 4))
    slow = retries.ask("ec2", "CreateFleet", lambda: 1).waited_seconds

    time.seconds += 60
    for _ in range(50):
        retries.call("ec2", "CreateFleet", lambda: 1)

    assert retries.ask("ec2", "CreateFleet", lambda: 1).waited_seconds == pytest.approx(0.2, abs=0.01)
    assert slow > 0.3


LAUNCHES = ("CreateFleet", "CreateLaunchTemplate", "TerminateInstances", "CreateTags", "DeleteLaunchTemplate")


@pytest.mark.parametrize("action", LAUNCHES)
def test_each_attempt_at_a_change_is_asked_about_just_before_it_is_sent(action: str) -> None:
    time, sent = SleptTime(), Script(THROTTLED, "done")

    def only_at_first() -> None:
        if time.slept:
            raise NotLeadingError("not any more")

    retries = CallRetries(time, PlainDice(), sleep=time.sleep, may_change=only_at_first)

    with pytest.raises(NotLeadingError):
        retries.call("ec2", action, sent)

    assert sent.calls == 1


@pytest.mark.parametrize(
    ("service", "action"),
    [
        ("ec2", "DescribeInstances"),
        ("ssm", "GetParameter"),
        ("iam", "ListInstanceProfiles"),
        ("pricing", "GetProducts"),
    ],
)
def test_nobody_is_asked_about_a_look_up(service: str, action: str) -> None:
    def refuse() -> None:
        raise NotLeadingError("not now")

    time = SleptTime()
    retries = CallRetries(time, PlainDice(), sleep=time.sleep, may_change=refuse)

    assert retries.call(service, action, lambda: "seen") == "seen"
