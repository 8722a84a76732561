"""Questions that come at the same time, answered together: the model is called once for many."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from gossamer.serving.errors import Busy

Key = TypeVar("Key")
Question = TypeVar("Question")
Answer = TypeVar("Answer")


class Batcher(Generic[Key, Question, Answer]):
    """Collects questions with equal keys for `wait_seconds`, or while the thread is busy, and answers them in one call.

    `run(answer_all, key, questions)` calls `answer_all` elsewhere, in a thread. Where it fails for several questions,
    each is asked alone, so that none fails for another; so it is where the number of answers is wrong, because nobody
    could say whose is missing. Everything else happens in the event loop's own thread.
    """

    def __init__(
        self,
        answer_all: Callable[[Key, Sequence[Question]], Sequence[Answer]],
        run: Callable[..., Awaitable[Sequence[Answer]]],
        *,
        on_batch: Callable[[int], None] = lambda _: None,
        max_batch: int = 64,
        max_waiting: int = 1_024,
        wait_seconds: float = 0.001,
    ) -> None:
        self._answer_all = answer_all
        self._run = run
        self._on_batch = on_batch
        self._max_batch, self._max_waiting, self._wait_seconds = max_batch, max_waiting, wait_seconds
        self._waiting: list[tuple[Key, Question, asyncio.Future[Answer]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def ask(self, key: Key, question: Question) -> Answer:
        """Return the answer, or raise what answering raised; `Busy` where too many wait."""
        if len(self._waiting) >= self._max_waiting:
            raise Busy(f"{self._max_waiting} questions are waiting already; ask again in a second")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((key, question, future))
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        """Answer until nobody waits."""
        try:
            while self._waiting:
                if len(self._waiting) < self._max_batch:
                    await asyncio.sleep(self._wait_seconds)
                await self._answer(self._next_batch())
        finally:
            self._worker = None

    def _next_batch(self) -> list[tuple[Key, Question, asyncio.Future[Answer]]]:
        """Take the oldest questions with the key of the very oldest; who has given up is left out."""
        self._waiting = [entry for entry in self._waiting if not entry[2].done()]
        if not self._waiting:
            return []
        first = self._waiting[0][0]
        taken = [entry for entry in self._waiting if entry[0] == first][: self._max_batch]
        chosen = {id(entry) for entry in taken}
        self._waiting = [entry for entry in self._waiting if id(entry) not in chosen]
        return taken

    async def _answer(self, batch: Sequence[tuple[Key, Question, asyncio.Future[Answer]]]) -> None:
        if not batch:
            return
        self._on_batch(len(batch))
        questions = [question for _, question, _ in batch]
        try:
            answers = await self._run(self._answer_all, batch[0][0], questions)
            if len(answers) != len(batch):
                raise RuntimeError(f"answer_all must return {len(batch)} answers, got {len(answers)}")
        except Exception as error:
            if len(batch) == 1:
                _settle(batch[0][2], error=error)
            else:
                for entry in batch:
                    await self._answer([entry])
            return
        for (_, _, future), answer in zip(batch, answers, strict=True):
            _settle(future, answer)


def _settle(future: asyncio.Future[Any], answer: Any = None, error: Exception | None = None) -> None:
    if future.done():  # the time limit was quicker
        return
    if error is None:
        future.set_result(answer)
    else:
        future.set_exception(error)
