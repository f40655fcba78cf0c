from __future__ import annotations

import json
from typing import Any

import pytest

from treenail.adapters.controller.webhook import review
from treenail.adapters.controller.webhook.review import NotAReviewError, answer

POOL = {
    "apiVersion": "karpenter.sh/v1beta1",
    "kind": "NodePool",
    "metadata": {"name": "default", "uid": "u-1"},
    "spec": {"template": {"spec": {"requirements": [], "nodeClassRef": {"name": "default"}}}},
}


def asking(*objects: Any, desired: str = "karpenter.sh/v1", **more: Any) -> bytes:
    request = {"uid": "r-1", "desiredAPIVersion": desired, "objects": [*objects]}
    said = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request, **more}
    return json.dumps(said).encode()


def unexpected(error: Exception) -> None:
    raise error


def answered(body: bytes) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(answer(body, unexpected))
    assert (said["apiVersion"], said["kind"]) == ("apiextensions.k8s.io/v1", "ConversionReview")
    assert said["response"]["uid"] == "r-1"
    return dict(said["response"])


def failure(*objects: Any, **more: Any) -> str:
    response = answered(asking(*objects, **more))
    assert response["result"]["status"] == "Failure"
    assert response["convertedObjects"] == []
    return str(response["result"]["message"])


def test_all_objects_come_back_in_their_order_in_the_version_asked_for() -> None:
    other = {**POOL, "metadata": {"name": "other", "uid": "u-2"}}

    response = answered(asking(POOL, other))

    assert response["result"] == {"status": "Success"}
    assert [o["apiVersion"] for o in response["convertedObjects"]] == ["karpenter.sh/v1"] * 2
    assert [o["metadata"]["uid"] for o in response["convertedObjects"]] == ["u-1", "u-2"]


def test_an_object_that_is_in_the_version_already_stays_as_it_is() -> None:
    assert answered(asking(POOL, desired="karpenter.sh/v1beta1"))["convertedObjects"] == [POOL]


def test_no_objects_are_none() -> None:
    assert answered(asking())["convertedObjects"] == []


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        ({**POOL, "spec": {"template": 1}}, "NodePool default: spec.template: must be a mapping"),
        (
            {**POOL, "kind": "Pod", "apiVersion": "v1"},
            'Pod default: kind: "Pod" is none of EC2NodeClass, NodeClaim, NodePool',
        ),
        ({}, "object: kind: null is none of EC2NodeClass, NodeClaim, NodePool"),
    ],
)
def test_what_cannot_be_converted_is_named_with_its_field(thing: dict[str, Any], message: str) -> None:
    assert failure(POOL, thing) == message


def test_a_version_that_there_is_not_is_refused() -> None:
    assert failure(POOL, desired="karpenter.sh/v2") == (
        'NodePool default: there is no version "v2" of it, only v1beta1 and v1'
    )


def test_a_version_of_another_group_is_refused() -> None:
    assert failure(POOL, desired="karpenter.k8s.aws/v1") == (
        'NodePool default: apiVersion: it is not of the group of "karpenter.k8s.aws/v1"'
    )


def test_a_defect_costs_one_answer_and_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> dict[str, Any]:
        raise KeyError("spec")

    monkeypatch.setattr(review, "converted", broken)
    defects: list[Exception] = []

    said = json.loads(answer(asking(POOL), defects.append))

    assert said["response"]["result"]["message"] == "NodePool default: a defect: KeyError"
    assert [type(error) for error in defects] == [KeyError]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "truncated"),
        (b"\xff\xfe", "malformed"),
        (b"[" * 100_000, "this is no ConversionReview"),
        (b"[]", "Expected `object`, got `array`"),
        (b"{}", "missing required field `apiVersion`"),
        (asking(POOL, request=None), "Expected `object`, got `null` - at `$.request`"),
        (asking("no object"), "Expected `object`, got `str` - at `$.request.objects[0]`"),
        (asking(POOL, kind="AdmissionReview"), 'but "AdmissionReview" of "apiextensions.k8s.io/v1"'),
        (asking(POOL, apiVersion="apiextensions.k8s.io/v1beta1"), 'of "apiextensions.k8s.io/v1beta1"'),
    ],
)
def test_what_is_no_review_is_refused_with_what_is_wrong_about_it(body: bytes, problem: str) -> None:
    with pytest.raises(NotAReviewError) as caught:
        answer(body, unexpected)

    assert problem in str(caught.value)
