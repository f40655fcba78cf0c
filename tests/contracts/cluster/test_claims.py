"""The contract of readers and writers that people can hold their own against, held against ours."""

from __future__ import annotations

import pytest

from tests.contracts.cluster.subject import Subject
from treenail.testing.contracts import ClaimContract, ClusterSubject, FeedContract


def as_public(subject: Subject) -> ClusterSubject:
    return ClusterSubject(reader=subject.reader, writer=subject.writer, settle=subject.settle)


class TestClaims(ClaimContract):
    @pytest.fixture(name="subject")
    def of_claims(self, subject: Subject) -> ClusterSubject:
        return as_public(subject)


class TestFeeds(FeedContract):
    @pytest.fixture(name="subject")
    def of_feeds(self, subject: Subject) -> ClusterSubject:
        return as_public(subject)
