"""The webhook of one replica: its server, and the thread that looks after it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from typing import Final
from urllib.parse import urlsplit

from treenail.adapters.controller.ground import Ground
from treenail.adapters.controller.namespace import own_namespace
from treenail.adapters.controller.serving.losses import told_to
from treenail.adapters.controller.serving.served_port import cannot_listen
from treenail.adapters.controller.webhook.review import answer
from treenail.adapters.controller.webhook.server import PATH, ConversionServer
from treenail.adapters.controller.webhook.upkeep import LOGGER, Address, WebhookUpkeep
from treenail.adapters.kubernetes.api_calls import ApiCalls
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.definitions import Definitions
from treenail.adapters.kubernetes.shared_secret import SharedSecret
from treenail.adapters.settings.settings import Settings
from treenail.domain.model.backoff import Backoff, Retries
from treenail.domain.model.errors import NotLeadingError, PortError
from treenail.domain.model.runtime import Dice

SECRET_NAME: Final = "treenail-webhook"  # noqa: S105 - what it is called, not what it holds
# The chart, as the docs install it, makes the Secret too.
_RELEASE: Final = "treenail"
_EVERY_SECONDS: Final = 60.0
_FOLLOWER_SECONDS: Final = 5.0
# Replicas that were started together shall not all ask together.
_SOONEST: Final = 0.8
_END_SECONDS: Final = 2.0


class Webhook:
    """Serves conversions, and keeps being trusted, until `stop`.

    `upkeep` is what looks after it; `failed` gets unexpected exceptions of it.
    """

    def __init__(
        self,
        server: ConversionServer,
        turn: Callable[[], bool],
        *,
        end: Event,
        dice: Dice,
        log: Callable[..., None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._server = server
        self._turn = turn
        self._end = end
        self._dice = dice
        self._log = log
        self._failed = failed
        self._retries = Retries(Backoff(first=1.0, longest=_EVERY_SECONDS), dice.uniform)
        self._thread = Thread(target=self._run, name="webhook-upkeep", daemon=True)

    def start(self) -> None:
        """Begin to look after it, and return at once."""
        self._thread.start()

    def stop(self) -> None:
        """Serve no more."""
        self._end.set()
        self._server.stop()
        if self._thread.ident is not None:
            self._thread.join(_END_SECONDS)

    def _run(self) -> None:
        try:
            while not self._end.wait(self._once()):
                pass
        except BaseException as error:  # noqa: BLE001 (a defect: it is reported, never lost with the thread)
            self._failed(error)

    def _once(self) -> float:
        """Take a turn, and return the seconds until the next."""
        try:
            well = self._turn()
        except NotLeadingError:
            # The leader writes what all replicas share: this one reads it soon.
            return _FOLLOWER_SECONDS * self._dice.uniform(_SOONEST, 1.0)
        except PortError as error:
            self._log("webhook upkeep failed", logger=LOGGER, level="warning", error=str(error))
            return self._retries.failed()
        if not well:
            return self._retries.failed()
        self._retries.succeeded()
        return _EVERY_SECONDS * self._dice.uniform(_SOONEST, 1.0)


def open_webhook(ground: Ground, connection: Connection) -> Webhook:
    """Listen, and return the webhook, to be started.

    Raises:
        SettingError: the port cannot be listened on.
    """
    settings, log, end = ground.settings, ground.telemetry.log, Event()

    def defect(error: Exception) -> None:
        log("object not converted", logger=LOGGER, level="error", error=error)

    try:
        server = ConversionServer(
            settings.webhook_port,
            partial(answer, defect=defect),
            failed=ground.failed,
            lost=told_to(ground.telemetry, "WEBHOOK_PORT"),
        )
    except OSError as error:
        raise cannot_listen("WEBHOOK_PORT", settings.webhook_port, error) from None
    log("serving conversions", logger=LOGGER, webhook_port=server.port)
    calls = ApiCalls(connection)
    upkeep = WebhookUpkeep(
        address=address_of(settings, server.port),
        secret=SharedSecret(
            calls, name=SECRET_NAME, namespace=own_namespace(settings.system_namespace), release=_RELEASE
        ),
        definitions=Definitions(calls),
        present=server.present,
        clock=ground.clock,
        log=log,
    )
    return Webhook(server, upkeep.turn, end=end, dice=ground.dice, log=log, failed=ground.failed)


def address_of(settings: Settings, port: int) -> Address:
    """Return where the API server finds the webhook that listens on `port`."""
    if settings.webhook_url:
        url = settings.webhook_url.rstrip("/")
        return Address(place={"url": url + PATH}, names=(urlsplit(url).hostname or "",))
    name, namespace = settings.karpenter_service, own_namespace(settings.system_namespace)
    service = {"name": name, "namespace": namespace, "path": PATH, "port": port}
    host = f"{name}.{namespace}.svc"
    return Address(place={"service": service}, names=(host, f"{host}.cluster.local"))
