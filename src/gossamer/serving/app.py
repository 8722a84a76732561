"""HTTP over a `Service`: what the server holds while it is up."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from fastapi import APIRouter, FastAPI

from gossamer.serving.batching import Batcher
from gossamer.serving.counters import Counters
from gossamer.serving.errors import Busy
from gossamer.serving.gate import Gate
from gossamer.serving.routes import answer_errors, make_router
from gossamer.serving.service import Asked, Service
from gossamer.serving.settings import Settings
from gossamer.version import __version__

logger = logging.getLogger(__name__)

T = TypeVar("T")
DESCRIPTION = 'Questions to the models of saved artifacts. Errors are one JSON sentence: `{"error": …}`.'


class Asking:
    """The thread in which models work, and who waits for it."""

    def __init__(self, service: Service, settings: Settings, counters: Counters) -> None:
        self.service = service
        self._max_waiting = settings.max_waiting
        self._num_waiting = 0
        self._thread: ThreadPoolExecutor | None = None
        self.batcher: Batcher[Asked, Any, dict[str, Any]] = Batcher(
            service.answer_all,
            self.run,
            on_batch=counters.record_batch,
            max_batch=settings.max_batch,
            max_waiting=settings.max_waiting,
            wait_seconds=settings.wait_seconds,
        )

    async def ask(self, question: Callable[[], T]) -> T:
        """Return what `question` returns, in the models' thread."""
        if self._num_waiting >= self._max_waiting:
            raise Busy(f"{self._num_waiting} questions are waiting already; ask again in a second")
        self._num_waiting += 1
        try:
            return await self.run(question)
        finally:
            self._num_waiting -= 1

    def run(self, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Call a function in the models' thread, however many wait."""
        if self._thread is None:
            # One: models are asked one at a time anyway, and the order of questions stays.
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")
        return asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    def close(self) -> None:
        """End the thread when it is done with what it has begun."""
        if self._thread is not None:
            self._thread.shutdown(wait=True, cancel_futures=True)
            self._thread = None


def create_app(
    service: Service,
    settings: Settings | None = None,
    *,
    explorer: APIRouter | None = None,
    shared_counters: Path | None = None,
    is_all: bool = False,
) -> FastAPI:
    """Return the application that answers for `service`; `explorer` is a router with pages of its own.

    Workers that are to be counted together have the same folder for `shared_counters`. `is_all` says that the process
    does nothing else.
    """
    limits = settings or Settings()
    counters = Counters(shared_counters)
    asking = Asking(service, limits, counters)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asking.run(service.warm_up)
        if is_all:
            _settle_memory()
        watcher = asyncio.create_task(_watch(asking, counters, limits.reload_seconds, is_all))
        yield
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher
        await _share(counters)
        asking.close()

    app = FastAPI(
        title="gossamer",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # they would come from elsewhere; ours is in routes.py
        redoc_url=None,
    )
    app.state.service, app.state.counters, app.state.asking = service, counters, asking
    app.include_router(make_router(asking, counters))
    if explorer is not None:
        app.include_router(explorer)
    answer_errors(app)
    app.add_middleware(
        Gate, settings=limits, counters=counters, routes={"/docs", "/openapi.json", *app.openapi()["paths"]}
    )
    return app


async def _watch(asking: Asking, counters: Counters, seconds: float, is_all: bool) -> None:
    """Share counters and load what was replaced, for as long as the server is up."""
    while True:
        await asyncio.sleep(seconds or 1.0)
        await _share(counters)
        if seconds:
            try:
                await _reload(asking, counters, is_all)
            except Exception:  # whatever it was, the next look may find better
                logger.exception("replaced artifacts could not be looked for; trying again")


async def _share(counters: Counters) -> None:
    """Let other workers see this one's sums; a disk that is full or slow must neither end nor delay what we do."""
    try:
        await asyncio.to_thread(counters.share)
    except OSError as error:
        logger.warning("counters could not be shared with other workers: %s", error)


async def _reload(asking: Asking, counters: Counters, is_all: bool) -> None:
    """Load what was replaced, beside the thread that answers; swap when it is ready."""
    service = asking.service
    for model in await asyncio.to_thread(service.load_replaced):
        try:
            await asking.run(service.warm_up, [model])
        except Exception as error:
            service.refuse(model.name, model.identity, error)
            continue
        service.adopt([model])
        counters.add("gossamer_reloads_total")
        if is_all:
            _settle_memory()


def _settle_memory() -> None:
    """Let garbage be looked for only in what comes from now on.

    Models and libraries are a million objects that stay: to look through them takes a tenth of a second, and Python
    does so every few thousand requests.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
