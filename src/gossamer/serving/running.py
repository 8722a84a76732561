"""A server in this process, or in several workers that share a port."""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from types import FrameType
from typing import TYPE_CHECKING, Any

from gossamer.serving.service import Service
from gossamer.serving.settings import Settings

if TYPE_CHECKING:
    from fastapi import FastAPI

# How a worker, which is a process of its own, learns what it is to serve.
PLAN, TOKEN = "GOSSAMER_SERVE", "GOSSAMER_TOKEN"
INSTALL = "pip install 'gossamer[serve]'"


def check_installed() -> None:
    """Say how to install what a server needs, where it is missing."""
    missing = [name for name in ("fastapi", "uvicorn") if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(f"serving needs {' and '.join(missing)}; install with: {INSTALL}")


def run_server(
    paths: Sequence[str],
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    with_users: bool = False,
    on_start: Callable[[str, Sequence[str]], None] = lambda _url, _names: None,
) -> None:
    """Serve the artifacts at `paths` until SIGTERM or Ctrl-C; what is being answered then is answered.

    `port` 0 takes a free one. `on_start` is told the address and the names of the models, when connections are taken;
    it is called in another thread.
    """
    check_installed()
    import uvicorn

    absolute = [os.path.abspath(path) for path in paths]
    found = check_port(host, port)
    options: dict[str, Any] = {
        "host": host,
        "port": found,
        "log_config": None,  # as the caller has set up logging
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": int(settings.time_limit) + 1,
        "timeout_worker_healthcheck": 60,  # a worker that loads a large model on a busy machine is not dead
    }
    url = f"http://[{host}]:{found}" if ":" in host else f"http://{host}:{found}"
    # With workers, too: a sentence now, rather than processes that cannot start.
    service = Service(absolute, with_users=with_users)
    names = list(service.models)
    # uvicorn ends gracefully and then lets the signal do what it would have done: here, nothing more.
    signal.signal(signal.SIGTERM, _ignore)
    with _announcing(host, found, lambda: on_start(url, names)):
        if workers == 1:
            uvicorn.run(make_app(service, settings), **options)
            return
        del service
        with tempfile.TemporaryDirectory(prefix="gossamer-") as folder:
            plan = {"paths": absolute, "with_users": with_users, "counters": folder, "settings": settings.as_text()}
            os.environ[PLAN] = json.dumps(plan)
            if settings.token is not None:
                os.environ[TOKEN] = settings.token
            uvicorn.run("gossamer.serving.running:app_of_worker", factory=True, workers=workers, **options)


def app_of_worker() -> FastAPI:
    """Return the application of a worker, from what `run_server` left in the environment."""
    plan = json.loads(os.environ[PLAN])
    settings = Settings.from_text(plan["settings"], os.environ.get(TOKEN))
    service = Service(plan["paths"], with_users=plan["with_users"])
    return make_app(service, settings, Path(plan["counters"]))


def make_app(service: Service, settings: Settings, shared_counters: Path | None = None) -> FastAPI:
    """Return the application with everything that is installed."""
    from gossamer.serving.app import create_app

    # Models warn of what they are given, such as texts that are cut; a log that strangers can fill helps nobody.
    logging.getLogger("gossamer.models").setLevel(logging.ERROR)
    explorer = None
    if importlib.util.find_spec("gossamer.serving.explorer") is not None:
        explorer = importlib.import_module("gossamer.serving.explorer").make_router(service)
    return create_app(service, settings, explorer=explorer, shared_counters=shared_counters, is_all=True)


def check_port(host: str, port: int) -> int:
    """Return the port, or a free one for 0; a port that is taken, or a host that is not ours, is an OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family) as taken:
            found: int = taken.getsockname()[1]
            return found
    except (OSError, OverflowError) as error:
        raise OSError(f"cannot listen on {host}, port {port}: {error}") from error


@contextmanager
def _announcing(host: str, port: int, announce: Callable[[], None]) -> Iterator[None]:
    """Call `announce` as soon as somebody takes connections: with workers only the port can tell."""
    is_over = Event()

    def wait() -> None:
        while not is_over.wait(0.05):
            try:
                socket.create_connection((host, port), timeout=1).close()
            except OSError:
                continue
            announce()
            return

    waiting = Thread(target=wait, name="announcing", daemon=True)
    waiting.start()
    try:
        yield
    finally:
        is_over.set()
        waiting.join()


def _ignore(_number: int, _frame: FrameType | None) -> None:
    """Do nothing."""
