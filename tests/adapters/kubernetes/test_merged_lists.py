"""However a list and a watch come in between each other, what is known becomes what is there."""

from __future__ import annotations

import json
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.adapters.kubernetes.objects import pod
from treenail.adapters.api.items import Item
from treenail.adapters.api.reading import Reading
from treenail.adapters.kubernetes.items import items_of
from treenail.adapters.kubernetes.listing import Listing
from treenail.adapters.kubernetes.resource_store import WatchedResource
from treenail.adapters.kubernetes.resources import POD
from treenail.adapters.kubernetes.watch_store import WatchStore
from treenail.domain.cluster.cluster_facts import ObjectGone, ObjectSeen, key_of

# What happens next: to a pod, or who reads on.
CHANGES = [(what, pod) for what in ("write", "delete") for pod in (0, 1)]
READING = [(what, 0) for what in ("watch", "watch", "watch", "lose", "list", "page", "end")]
STEPS = st.lists(st.sampled_from([*CHANGES, *READING]), min_size=20, max_size=40)


@dataclass
class OpenList:
    """A list that is read: what it holds and as of when."""

    listing: Listing[Item]
    rest: list[bytes]
    revision: int


class Store:
    """Pods by number, with all that happened to them, as the API server has it."""

    def __init__(self) -> None:
        self.revision = 1
        self.there: dict[int, bytes] = {}
        self.events: list[tuple[str, int, bytes]] = []
        self._lives = [0] * 2

    def write(self, number: int) -> None:
        self.revision += 1
        tree = pod(f"p-{number}", self.revision, uid=self._uid(number), at=str(self.revision))
        self.there[number] = json.dumps(tree).encode()
        self.events.append(("seen", self.revision, self.there[number]))

    def delete(self, number: int) -> None:
        if number in self.there:
            self.revision += 1
            del self.there[number]
            self.events.append(("gone", self.revision, self._uid(number).encode()))
            self._lives[number] += 1

    def versions(self) -> dict[str, int]:
        metas = [json.loads(content)["metadata"] for content in self.there.values()]
        return {meta["uid"]: int(meta["resourceVersion"]) for meta in metas}

    def _uid(self, number: int) -> str:
        return f"uid-{number}-{self._lives[number]}"


class Listener:
    """What somebody believes who is told everything; it complains where that goes backwards."""

    def __init__(self) -> None:
        self.believed: dict[str, int] = {}
        self._gone: set[str] = set()

    def hear(self, store: WatchStore) -> None:
        for fact in store.take(100):
            if isinstance(fact, ObjectGone):
                self.believed.pop(fact.key, None)
                self._gone.add(fact.key)
            elif isinstance(fact, ObjectSeen):
                key, version = key_of(fact.object), fact.object.resource_version
                assert key not in self._gone, "it came back"
                assert version > self.believed.get(key, 0), "it went backwards"
                self.believed[key] = version


class Reader:
    """Reads lists of the store, and watches it, in whichever order it is told to."""

    def __init__(self, store: Store) -> None:
        self.store = WatchStore((POD,))
        self._store = store
        self._shelf = WatchedResource(POD, self.store, items_of(POD, Reading()))
        self._watched = 0
        self._list: OpenList | None = None
        self.store.listed(POD, (), store.revision)
        self.store.resynced()

    @property
    def behind(self) -> bool:
        return self._watched < len(self._store.events)

    def watch(self, *, heard: bool = True) -> None:
        """Have the watch tell what happened next, unless that is lost."""
        kind, revision, content = self._store.events[self._watched]
        self._watched += 1
        if not heard:
            return
        if kind == "seen":
            self._shelf.seen(content)
        else:
            self._shelf.gone(content.decode(), revision)

    def begin(self) -> None:
        if self._list is None:
            there = list(self._store.there.values())
            self._list = OpenList(self._shelf.begin(), there, self._store.revision)

    def read_on(self) -> None:
        if self._list is not None and self._list.rest:
            self._shelf.listed(self._list.listing, self._list.rest.pop(0))

    def end(self) -> None:
        if self._list is not None:
            while self._list.rest:
                self.read_on()
            assert not self._shelf.merge(self._list.listing, self._list.revision)
            self._list = None


@settings(max_examples=200)
@given(STEPS)
def test_nothing_goes_backwards_and_in_the_end_all_is_right(steps: list[tuple[str, int]]) -> None:
    store, listener = Store(), Listener()
    reader = Reader(store)
    for step, number in steps:
        match step:
            case "write":
                store.write(number)
            case "delete":
                store.delete(number)
            case "watch" | "lose" if reader.behind:
                reader.watch(heard=step == "watch")
            case "list":
                reader.begin()
            case "page":
                reader.read_on()
            case "end":
                reader.end()
        listener.hear(reader.store)

    # What a watch did not tell is mended by the next list.
    reader.end()
    reader.begin()
    reader.end()
    while reader.behind:
        reader.watch()
    listener.hear(reader.store)
    assert listener.believed == store.versions()
