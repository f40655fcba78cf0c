"""The live page: the state of the cluster, its cost and recent decisions, in a browser, as they change."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from typing import Final

from treenail.adapters.controller.live_story import SHOWN_SECONDS, Sample, live_story, sample_of
from treenail.adapters.controller.metrics_and_probes import Page, Pages
from treenail.adapters.report.page import render
from treenail.domain.cluster.shown_state import StateAsked, StateShown
from treenail.domain.model.runtime import Ref
from treenail.domain.telemetry.tracing import Span

# A page is made anew at most so often (s), however many look.
_MADE_EVERY: Final = 0.6
_ANSWERED_WITHIN: Final = 2.0
_SAMPLED_EVERY: Final = 60.0
_MOST_SAMPLES: Final = int(SHOWN_SECONDS / _SAMPLED_EVERY) + 1
_MOST_RECENT: Final = 200
_RECENT: Final = ("decide", "terminate")
_HTML: Final = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class _Into:
    """A reference that puts an answer into a queue."""

    answers: SimpleQueue[StateShown]

    def tell(self, message: StateShown, /) -> None:
        self.answers.put(message)


class LivePage:
    """Keeps a sample a minute, and the roots of the latest traces. The rest is asked for when somebody looks.

    `cluster` is the way to who knows the state, None while this replica does not lead. `monotonic` tells the
    seconds. `note` may be called by any thread.
    """

    def __init__(
        self,
        *,
        name: str,
        cluster: Callable[[], Ref[StateAsked] | None],
        monotonic: Callable[[], float],
    ) -> None:
        self._name = name
        self._cluster = cluster
        self._monotonic = monotonic
        self._recent: deque[Span] = deque(maxlen=_MOST_RECENT)
        self._samples: deque[Sample] = deque(maxlen=_MOST_SAMPLES)
        self._lock = Lock()
        self._made: Page | None = None
        self._made_at = 0.0
        self._stopped = Event()

    def pages(self) -> Pages:
        """Return the page under its paths."""
        return {"/": self.page, "/ui": self.page, "/revision": self.revision}

    def note(self, span: Span) -> None:
        """Keep a finished span, if the page tells of such."""
        if span.name in _RECENT:
            with self._lock:
                self._recent.append(span)

    def start(self) -> None:
        """Take a sample each minute from now on."""
        Thread(target=self._sample, name="live-page", daemon=True).start()

    def stop(self) -> None:
        """Take no more samples."""
        self._stopped.set()

    def page(self) -> Page:
        """Return the page as it is now, or was less than a second ago."""
        if self._made is None or self._monotonic() - self._made_at >= _MADE_EVERY:
            self._made, self._made_at = self._make(), self._monotonic()
        return self._made

    def revision(self) -> Page:
        """Return a number that changes with the state: who looks asks for the page anew then."""
        state = self._ask()
        return self._make() if state is None else Page(f"{state.revision}\n".encode())

    def _make(self) -> Page:
        if self._cluster() is None:
            said = "another replica leads: look at the page of that one, or forward the port to its pod\n"
            return Page(said.encode(), HTTPStatus.SERVICE_UNAVAILABLE)
        state = self._ask()
        if state is None:
            return Page(b"the cluster is not known yet, or busy: try again\n", HTTPStatus.SERVICE_UNAVAILABLE)
        with self._lock:
            samples, recent = tuple(self._samples), tuple(self._recent)
        below = f"at {state.now:%Y-%m-%d %H:%M:%S} UTC; the last hour, up to now"
        story = live_story(state, samples, recent, f"Cluster {self._name}", below)
        return Page(render(story, live=True).encode(), content_type=_HTML)

    def _ask(self) -> StateShown | None:
        """Return the state; None where nobody answers in time."""
        cluster = self._cluster()
        if cluster is None:
            return None
        answers: SimpleQueue[StateShown] = SimpleQueue()
        cluster.tell(StateAsked(_Into(answers)))
        try:
            return answers.get(timeout=_ANSWERED_WITHIN)
        except Empty:
            return None

    def _sample(self) -> None:
        while not self._stopped.wait(_SAMPLED_EVERY):
            state = self._ask()
            if state is not None:
                with self._lock:
                    self._samples.append(sample_of(state))
