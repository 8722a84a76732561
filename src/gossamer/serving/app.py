"""HTTP over a `Service`: the routes, one line of work each."""

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
from gossamer.serving.loading import LoadedModel
from gossamer.serving.recommending import Wanted
from gossamer.serving.routes import answer_errors, make_router
from gossamer.serving.service import Service
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
        self.batcher: Batcher[LoadedModel, Wanted, dict[str, Any]] = Batcher(
            service.recommend_all,
            self._run,
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
            return await self._run(question)
        finally:
            self._num_waiting -= 1

    def _run(self, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
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
        await asking.ask(service.warm_up)
        if is_all:
            # Models and libraries are a million objects that stay: to look through them for garbage takes a tenth of a
            # second every few thousand requests.
            gc.collect()
            gc.freeze()
        watcher = asyncio.create_task(_watch(asking, counters, limits.reload_seconds))
        yield
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher
        counters.share()
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


async def _watch(asking: Asking, counters: Counters, seconds: float) -> None:
    """Load what was replaced, beside the thread that answers; swap when it is ready."""
    while True:
        await asyncio.sleep(seconds or 1.0)
        counters.share()
        if not seconds:
            continue
        try:
            fresh = await asyncio.to_thread(asking.service.load_replaced)
            if fresh:
                await asking.ask(lambda fresh=fresh: asking.service.warm_up(fresh))  # type: ignore[misc]
                asking.service.adopt(fresh)
                counters.add("gossamer_reloads_total", len(fresh))
        except Exception:
            logger.exception("looking for replaced artifacts failed; the models stay as they are")
