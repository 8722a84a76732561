from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gossamer.serving.batching import Batcher
from gossamer.serving.errors import Busy


@pytest.fixture
def thread():
    with ThreadPoolExecutor(max_workers=1) as executor:
        yield lambda *call: asyncio.get_running_loop().run_in_executor(executor, *call)


class Doubling:
    """Answers twice the question, and remembers the batches."""

    def __init__(self):
        self.batches = []
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, key, questions):
        self.gate.wait(10)
        self.batches.append((key, list(questions)))
        if "bad" in questions:
            raise ValueError("bad must not be doubled")
        return [2 * question for question in questions]


def test_questions_at_the_same_time_are_answered_together(thread):
    answer = Doubling()
    sizes = []

    async def run():
        batcher = Batcher(answer, thread, on_batch=sizes.append, wait_seconds=0.02)
        return await asyncio.gather(*(batcher.ask("key", number) for number in range(10)))

    assert asyncio.run(run()) == [2 * number for number in range(10)]
    assert answer.batches == [("key", list(range(10)))]
    assert sizes == [10]


def test_a_batch_has_a_limit_and_one_key(thread):
    answer = Doubling()
    keys = "one", "two"

    async def run():
        batcher = Batcher(answer, thread, max_batch=3)
        asked = [batcher.ask(keys[number % 2], number) for number in range(10)]
        return await asyncio.gather(*asked)

    assert asyncio.run(run()) == [2 * number for number in range(10)]
    assert [key for key, _ in answer.batches] == ["one", "two", "one", "two"]
    assert [len(questions) for _, questions in answer.batches] == [3, 3, 2, 2]


def test_a_bad_question_fails_alone(thread):
    answer = Doubling()

    async def run():
        batcher = Batcher(answer, thread)
        asked = [batcher.ask("key", question) for question in ("a", "bad", "b")]
        return await asyncio.gather(*asked, return_exceptions=True)

    first, error, last = asyncio.run(run())
    assert (first, last, str(error)) == ("aa", "bb", "bad must not be doubled")


def test_too_many_are_sent_away(thread):
    answer = Doubling()
    answer.gate.clear()

    async def run():
        batcher = Batcher(answer, thread, max_batch=1, max_waiting=2)
        asked = [asyncio.create_task(batcher.ask("key", number)) for number in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="2 questions are waiting already"):
            await batcher.ask("key", 3)
        answer.gate.set()
        return await asyncio.gather(*asked)

    assert asyncio.run(run()) == [0, 2]


def test_who_has_given_up_is_not_answered(thread):
    answer = Doubling()

    async def run():
        batcher = Batcher(answer, thread, wait_seconds=0.02)
        gone = asyncio.create_task(batcher.ask("key", 1))
        stays = asyncio.create_task(batcher.ask("key", 2))
        await asyncio.sleep(0)
        gone.cancel()
        found = await stays
        alone = asyncio.create_task(batcher.ask("key", 3))
        await asyncio.sleep(0)
        alone.cancel()
        await asyncio.sleep(0.05)
        return found, await batcher.ask("key", 4)

    assert asyncio.run(run()) == (4, 8)
    assert [questions for _, questions in answer.batches] == [[2], [4]]


@pytest.mark.parametrize("wrong", [0, 1, 5])
def test_a_wrong_number_of_answers_leaves_nobody_waiting(thread, wrong):
    def answer(_, questions):
        return ["?"] * wrong if len(questions) > 1 else [2 * question for question in questions]

    async def run():
        batcher = Batcher(answer, thread, wait_seconds=0.02)
        return await asyncio.wait_for(asyncio.gather(*(batcher.ask("key", number) for number in range(3))), 10)

    assert asyncio.run(run()) == [0, 2, 4]


def test_who_is_never_answered_is_told(thread):
    async def run():
        batcher = Batcher(lambda _, questions: [], thread)
        asked = asyncio.gather(batcher.ask("key", 1), batcher.ask("key", 2), return_exceptions=True)
        return await asyncio.wait_for(asked, 10)

    assert [str(error) for error in asyncio.run(run())] == ["answer_all must return 1 answers, got 0"] * 2


def test_keys_are_compared_by_what_they_are(thread):
    answer = Doubling()

    async def run():
        batcher = Batcher(answer, thread, wait_seconds=0.02)
        return await asyncio.gather(*(batcher.ask(("model", str(number % 2)), number) for number in range(4)))

    assert asyncio.run(run()) == [0, 2, 4, 6]
    assert answer.batches == [(("model", "0"), [0, 2]), (("model", "1"), [1, 3])]
