"""Checks every call to AWS against what the controller is allowed there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cloudformation import allowed_actions
from treenail.adapters.ec2.call_retries import CallRetries, Passed


@pytest.fixture(autouse=True)
def only_what_is_permitted_is_called(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test in which a call is made that the policy does not allow."""
    forbidden: dict[str, None] = {}
    ask = CallRetries.ask

    def asked(
        retries: CallRetries, service: str, action: str, call: Callable[[], object], **how: Any
    ) -> Passed[object]:
        if f"{service}:{action}" not in allowed_actions():
            forbidden[f"{service}:{action}"] = None
        return ask(retries, service, action, call, **how)

    monkeypatch.setattr(CallRetries, "ask", asked)
    yield
    assert not forbidden, f"deploy/cloudformation does not allow {', '.join(forbidden)}"
