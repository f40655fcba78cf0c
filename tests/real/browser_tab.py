"""A tab of a real browser that is driven: keys are pressed, media and sizes set, the page asked."""

from __future__ import annotations

import base64
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlparse
from urllib.request import urlopen

import websocket

from tests.real.browser import browser_command

_LONGEST_SECONDS: Final = 60
_KEYS: Final = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
_TYPED: Final = {"Enter": "\r", " ": " "}
_SHIFT: Final = 8


class Tab:
    """The one tab of a browser of its own, through the Chrome DevTools Protocol."""

    def __init__(self, socket: websocket.WebSocket) -> None:
        self.console: list[str] = []
        self._socket = socket
        self._calls = 0
        self._events: list[dict[str, Any]] = []
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Call a method of the protocol, and return its result."""
        self._calls += 1
        self._socket.send(json.dumps({"id": self._calls, "method": method, "params": params}))
        while (message := json.loads(self._socket.recv())).get("id") != self._calls:
            self._note(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        result: dict[str, Any] = message["result"]
        return result

    def open(self, url: str) -> None:
        """Open a page, and wait until it is loaded."""
        self._events.clear()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self._events):
            self._note(json.loads(self._socket.recv()))

    def evaluate(self, script: str) -> Any:
        """Return the value of an expression of the page."""
        ran = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in ran:
            raise RuntimeError(f"{script}: {ran['exceptionDetails']}")
        return ran["result"].get("value")

    def wait_for(self, script: str) -> None:
        """Wait until an expression of the page is true."""
        last = time.monotonic() + _LONGEST_SECONDS
        while not self.evaluate(f"Boolean({script})"):
            if time.monotonic() > last:
                raise TimeoutError(script)
            self.evaluate("new Promise(done => setTimeout(done, 50))")

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key and let go of it, as a person would."""
        code, typed = _KEYS[key], _TYPED.get(key)
        pressed: dict[str, object] = {
            "key": key,
            "code": "Space" if key == " " else key,
            "windowsVirtualKeyCode": code,
            "modifiers": _SHIFT if shift else 0,
        }
        down = {"type": "keyDown", "text": typed} if typed else {"type": "rawKeyDown"}
        self.call("Input.dispatchKeyEvent", **pressed, **down)
        self.call("Input.dispatchKeyEvent", **pressed, type="keyUp")

    def look(self, *, dark: bool = False, width: int = 1280, height: int = 1600, media: str = "") -> None:
        """Set what the page is shown on, by itself if `media` is "", and if its reader wants it dark."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def picture(self, *, whole: bool = False) -> bytes:
        """Return what is seen as PNG, or the `whole` page."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(taken["data"])

    def printed(self) -> bytes:
        """Return the page printed on A4, without backgrounds, as a browser prints unless told otherwise."""
        return base64.b64decode(self.call("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])

    def _note(self, message: dict[str, Any]) -> None:
        self._events.append(message)
        if message.get("method") == "Runtime.consoleAPICalled":
            self.console.append(json.dumps(message["params"]["args"]))
        elif message.get("method") == "Runtime.exceptionThrown":
            self.console.append(json.dumps(message["params"]["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded":
            self.console.append(message["params"]["entry"]["text"])


@contextmanager
def open_tab(profile: Path) -> Iterator[Tab]:
    """Start a browser with a profile in an empty folder, and end it afterwards."""
    process = subprocess.Popen(  # noqa: S603 (a browser of this machine, on a page of our own)
        browser_command("about:blank", "--remote-debugging-port=0", f"--user-data-dir={profile}"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        socket = websocket.create_connection(
            _address(profile), timeout=_LONGEST_SECONDS, suppress_origin=True
        )
        try:
            yield Tab(socket)
        finally:
            socket.close()
    finally:
        process.terminate()
        process.wait(_LONGEST_SECONDS)


def _address(profile: Path) -> str:
    """Return where the tab listens, once the browser has written its port into its profile."""
    last = time.monotonic() + _LONGEST_SECONDS
    port = profile / "DevToolsActivePort"
    while not (port.exists() and port.read_text().count("\n")):
        if time.monotonic() > last:
            raise TimeoutError("Chromium did not open its debugging port")
        time.sleep(0.05)
    with urlopen(f"http://127.0.0.1:{port.read_text().splitlines()[0]}/json/list", timeout=10) as answer:
        pages = [page for page in json.load(answer) if page["type"] == "page"]
    address: str = pages[0]["webSocketDebuggerUrl"]
    assert urlparse(address).hostname == "127.0.0.1"
    return address
