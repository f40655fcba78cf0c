"""AWS's refusals, as botocore raises them, and time that passes only where somebody sleeps."""

from __future__ import annotations

from datetime import datetime, timedelta

from botocore.exceptions import ClientError

from tests.agenda import START


def refusal(
    code: str, message: str = "no", *, status: int = 400, operation: str = "CreateFleet"
) -> ClientError:
    response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, operation)  # type: ignore[arg-type]


THROTTLED = refusal("RequestLimitExceeded", "Request limit exceeded.", status=503)


class SleptTime:
    """A clock that moves by what is slept on it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds


class Script:
    """A call that raises or returns the given outcomes, one after the other."""

    def __init__(self, *outcomes: object) -> None:
        self._outcomes = list(outcomes)
        self.calls = 0

    def __call__(self) -> object:
        self.calls += 1
        outcome = self._outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome
