"""What tests in headless Chromium share: a server in a thread, a page that notes what is said, and patience."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

pytest.importorskip("fastapi", reason="needs the extra serve")
pytest.importorskip("playwright", reason="needs playwright, from the extra test")
import uvicorn
from playwright.sync_api import BrowserContext, Locator, Page

from gossamer.serving.app import create_app
from gossamer.serving.explorer import make_router
from gossamer.serving.service import Service
from gossamer.serving.settings import Settings

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 860}
PATIENCE = 60_000  # milliseconds: machines are shared, and speed is not what is tested
REFUSED = "the server responded with a status of "


@contextmanager
def running(service: Service, results: Path, settings: Settings | None = None) -> Iterator[str]:
    """Serve on a free port, in a thread of its own, and yield the address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    app = create_app(service, settings, explorer=make_router(service, results))
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


class Visit:
    """A page that notes every word on the console and every request."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.address = address
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.said: list[str] = []
        self.asked: set[str] = set()
        self.allowed = "404"
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.add(urlsplit(request.url).netloc))

    def open(self, view: str, **parameters: str) -> Page:
        self.page.goto(f"{self.address}/#{view}?{urlencode(parameters)}")
        self.page.wait_for_selector("main:not([aria-busy]) > :not(.loading)")
        return self.page


def hits(page: Page) -> Locator:
    """Return what a search box has found; a select has options, too."""
    return page.locator(".found:visible li")


def until(page: Page, expression: str) -> None:
    """Wait until an expression is true; Playwright's own way to do so is an eval, which the page's policy forbids."""
    for _ in range(1000):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(30)
    raise AssertionError(f"{expression} has not become true")


def until_held(page: Page, held: list[Any]) -> None:
    """Wait until a request was stopped on its way."""
    for _ in range(1000):
        if held:
            return
        page.wait_for_timeout(10)
    raise AssertionError("nothing was asked")


def requested(page: Page, path: str, **parameters: Any) -> Any:
    """Return an answer of the server."""
    return page.request.get(f"{page.url.partition('#')[0]}explore/{path}?{urlencode(parameters)}").json()


def width_of(page: Page) -> int:
    return page.evaluate("document.documentElement.scrollWidth")


def place_of(page: Page, point: int) -> tuple[float, float]:
    until(page, "document.querySelector('canvas')?.cloud")
    x, y = page.evaluate("(point) => document.querySelector('canvas').cloud.toScreen(point)", point)
    box = page.locator("canvas").bounding_box()
    return box["x"] + x, box["y"] + y
