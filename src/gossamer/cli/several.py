"""The command in several processes that torchrun started: which verbs can, and who speaks."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from gossamer.core.processes import process_count, process_rank


def check_verb(words: Sequence[str]) -> None:
    """Refuse what several processes cannot do together."""
    if process_count() > 1 and words[:1] != ["fit"]:
        raise ValueError(f"the verb must be fit where torchrun starts several processes, got {' '.join(words[:1])!r}")


@contextmanager
def only_the_first_speaks() -> Iterator[None]:
    """Keep quiet what a process says that is not the first."""
    if process_rank() == 0:
        yield
        return
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.CRITICAL)
    try:
        with open(os.devnull, "w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
            yield
    finally:
        root.setLevel(before)


def last_word(sentence: str, *, of_all: bool = False) -> str | None:
    """Return what this process says of why the command ends; None where another has said it for all.

    It names itself. What is true `of_all` processes the first one says, after what else it has to say.
    """
    if process_count() == 1:
        return sentence
    from gossamer.runner.together import is_first_to_fail, wait_for_a_word

    if of_all and process_rank():
        wait_for_a_word()
        return None
    if not is_first_to_fail():
        return None
    return f"process {process_rank()}: {sentence}" if process_rank() else sentence
