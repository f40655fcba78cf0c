"""Holds every call that passes a gate against what the controller is allowed in AWS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cloudformation import allowed_actions
from treenail.adapters.ec2.gate import Gate, Passed


@pytest.fixture(autouse=True)
def only_what_is_permitted_is_called(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test in which a call is made that the policy does not allow."""
    forbidden: dict[str, None] = {}
    ask = Gate.ask

    def asked(
        gate: Gate, service: str, action: str, call: Callable[[], object], **how: Any
    ) -> Passed[object]:
        if f"{service}:{action}" not in allowed_actions():
            forbidden[f"{service}:{action}"] = None
        return ask(gate, service, action, call, **how)

    monkeypatch.setattr(Gate, "ask", asked)
    yield
    assert not forbidden, f"deploy/cloudformation does not allow {', '.join(forbidden)}"
