"""What every request passes before and after its route: token, size, time, counting, and never a stack trace."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import json
import logging
import time
from collections.abc import Collection, Iterable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gossamer.serving.counters import Counters
from gossamer.serving.settings import Settings

logger = logging.getLogger(__name__)

MAX_HEADER_BYTES = 16 << 10
OPEN_PATHS = ("/health",)  # what asks for health has no token

Header = tuple[bytes, bytes]


class TooLarge(Exception):
    """The body has more bytes than are read."""


class Gate:
    """An ASGI layer around the application, written out because every request pays for it."""

    def __init__(self, app: ASGIApp, settings: Settings, counters: Counters, routes: Collection[str]) -> None:
        self._app = app
        self._settings = settings
        self._counters = counters
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it with an error."""
        if scope["type"] != "http":
            await (self._app(scope, receive, send) if scope["type"] == "lifespan" else _refuse_socket(send))
            return
        began = time.perf_counter()
        passage = _Passage(receive, send, self._settings.max_body)
        refusal = self._refusal(scope)
        if refusal is None:
            await self._pass(scope, passage)
        else:
            await send_error(send, *refusal)
            passage.status = refusal[0]
        # Only known routes: paths that strangers make up must not become names of counters.
        route = scope["path"] if scope["path"] in self._routes else "other"
        self._counters.record(route, passage.status, time.perf_counter() - began)

    def _refusal(self, scope: Scope) -> tuple[int, str] | tuple[int, str, list[Header]] | None:
        """Say why a request is not even begun, as its headers tell."""
        headers: list[Header] = scope["headers"]
        if sum(len(name) + len(value) for name, value in headers) > MAX_HEADER_BYTES:
            return 431, f"headers must have at most {MAX_HEADER_BYTES} bytes together"
        found = dict(headers)
        token = self._settings.token
        if (
            token is not None
            and scope["path"] not in OPEN_PATHS
            and not is_authorised(found.get(b"authorization"), token)
        ):
            # Basic as well, because that is what a browser asks people for.
            # In lines of their own: Chromium takes one line for one way.
            challenge = [(b"www-authenticate", b"Bearer"), (b"www-authenticate", b'Basic realm="gossamer"')]
            return 401, "the header Authorization must be 'Bearer TOKEN' with the server's token", challenge
        length = found.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:20]) > self._settings.max_body:
            return 413, f"the body must have at most {self._settings.max_body} bytes"
        return None

    async def _pass(self, scope: Scope, passage: _Passage) -> None:
        limit = self._settings.time_limit
        try:
            async with asyncio.timeout(limit):
                await self._app(scope, passage.receive, passage.send)
        except TimeoutError:
            if passage.waits_for_body:
                await passage.fail(408, f"the body did not arrive within {limit:g} seconds")
            else:
                await passage.fail(503, f"the answer took longer than {limit:g} seconds; ask again, or for less")
        except TooLarge:
            await passage.fail(413, f"the body must have at most {self._settings.max_body} bytes")
        except Exception:
            logger.exception("a request to %.200r failed", scope["path"])
            await passage.fail(500, "this is a bug of the server; its log says more")


class _Passage:
    """Receive and send of one request, watched."""

    def __init__(self, receive: Receive, send: Send, max_body: int) -> None:
        self._receive, self._send = receive, send
        self._left = max_body
        self._has_body = False
        self.waits_for_body = False
        self.has_begun = False
        self.status = 500

    async def receive(self) -> Message:
        # Only while somebody asks for it: a route without a body never does, and may still be slow.
        self.waits_for_body = not self._has_body
        message = await self._receive()
        self.waits_for_body = False
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._has_body = not message.get("more_body", False)
            if self._left < 0:
                raise TooLarge
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            self.status = message["status"]
        await self._send(message)

    async def fail(self, status: int, sentence: str) -> None:
        """Answer with an error, unless an answer has begun: then only the connection can say that it failed."""
        if self.has_begun:
            raise ConnectionAbortedError(sentence)
        self.status = status
        await send_error(self._send, status, sentence)


def is_authorised(header: bytes | None, token: str) -> bool:
    """Compare a header's token, or the password of Basic, with ours; in constant time, whatever is sent.

    >>> is_authorised(b"Bearer sesame", "sesame"), is_authorised(b"Basic OnNlc2FtZQ==", "sesame")
    (True, True)
    """
    scheme, _, given = (header or b"").partition(b" ")
    if scheme.lower() == b"basic":
        try:
            given = base64.b64decode(given, validate=True).partition(b":")[2]
        except binascii.Error:
            given = b""
    elif scheme.lower() != b"bearer":
        given = b""
    return hmac.compare_digest(given.strip(), token.encode())


async def send_error(send: Send, status: int, sentence: str, headers: Iterable[Header] = ()) -> None:
    """Send one JSON sentence."""
    body = error_body(sentence)
    described: list[Header] = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    # What is left of a body that was not read would be taken for the next request.
    described.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": [*described, *headers]})
    await send({"type": "http.response.body", "body": body})


def error_body(sentence: str) -> bytes:
    """Return an error as JSON."""
    answer: dict[str, Any] = {"error": sentence}
    return json.dumps(answer).encode()


async def _refuse_socket(send: Send) -> None:
    await send({"type": "websocket.close", "code": 1000})
