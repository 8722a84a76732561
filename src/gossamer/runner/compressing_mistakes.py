"""Mistakes in files of the user's own, told as theirs: one sentence with the place and what was raised there."""

from __future__ import annotations

import inspect
import os
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from torch import Tensor, nn

from gossamer.models.lowrank.answers import ByAnswers

OURS = (ValueError, OSError, FloatingPointError)  # what the house says sentences with
_CALL = nn.Module._call_impl.__code__  # every call of every module passes here


class OwnMistake(Exception):
    """What a user's code raised while `compress` used it; no ValueError, which batches that have ended are told by."""


@contextmanager
def told_as_theirs(begins: str, place: str, *, kind: type[Exception] = ValueError) -> Iterator[None]:
    """Let what the user's code at `place` raises be one sentence that `begins` so, and names it."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise kind(f"{begins}, got {describe(error, place)}; correct it there") from error


def describe(error: BaseException, place: str) -> str:
    """Return kind and message of an error in one line, and the line of the file `place` names where it came from.

    >>> describe(KeyError("weight"), "net.py:build")
    "KeyError: 'weight'"
    """
    message = " ".join(str(error).split())
    told = f"{type(error).__name__}: {message}" if message else type(error).__name__
    file = os.path.abspath(place.rpartition(":")[0])
    lines = [number for frame, number in traceback.walk_tb(error.__traceback__) if _file_of(frame) == file]
    return f"{told} (line {lines[-1]} of {os.path.basename(file)})" if lines else told


def call_function(place: str, function: Callable[[], Any]) -> Any:
    """Return what a user's function returns; one that needs arguments, or raises, is told as theirs."""
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise ValueError(
            f"{place} must be a function that needs no arguments, got {error}; give it defaults, or name another"
        ) from None
    except ValueError:  # some that are not written in Python do not say what they need
        pass
    with told_as_theirs(f"{place} must be a function that returns", place):
        return function()


class _Batches(Iterator[Any]):
    """Batches as they come, what is raised on the way told as the user's."""

    def __init__(self, place: str, batches: Iterator[Any]) -> None:
        self._place, self._batches = place, batches

    def __next__(self) -> Any:
        begins = f"{self._place} must give batches to the end"
        with told_as_theirs(begins, self._place, kind=OwnMistake):
            found = next(self._batches, self)  # StopIteration is no mistake
        if found is self:
            raise StopIteration
        return found


class _BatchesAgain(Iterable[Any]):
    """The same of data that can be read again."""

    def __init__(self, place: str, data: Iterable[Any]) -> None:
        self._place, self._data = place, data

    def __iter__(self) -> Iterator[Any]:
        with told_as_theirs(f"{self._place} must return what can be read", self._place, kind=OwnMistake):
            return _Batches(self._place, iter(self._data))


def watch_batches(place: str, data: Any) -> Any:
    """Return data as they are but for what they raise; those that can be read once stay so, and no data stay none."""
    if not isinstance(data, Iterable) or isinstance(data, str | Tensor | nn.Module):
        return data
    return _Batches(place, data) if isinstance(data, Iterator) else _BatchesAgain(place, data)


def watch_loss(place: str, loss: Any) -> Any:
    """Return a loss as it is but for what it raises."""
    if not callable(loss):
        return loss

    def watched(output: Any, target: Any) -> Any:
        with told_as_theirs(f"{place} must take (output, target)", place, kind=OwnMistake):
            return loss(output, target)

    return ByAnswers(watched) if isinstance(loss, ByAnswers) else watched


@contextmanager
def network_at_work(build: str, *data: str) -> Iterator[None]:
    """Tell what is raised inside the user's network, their batches or their loss as theirs; all else stays as it is."""
    try:
        yield
    except OwnMistake as mistake:
        raise ValueError(str(mistake)) from mistake
    except Exception as error:
        # `compress` may have said it already, but it does not know the names of files and functions.
        raised = next(filter(_is_from_network, (error, error.__cause__)), None)
        if raised is None:
            raise
        raise ValueError(
            f"{build}'s network could not work on the data: {describe(raised, build)}; "
            f"call it yourself on one batch of {' and of '.join(data)}"
        ) from error


def _is_from_network(error: BaseException | None) -> bool:
    """Say whether a module was being called, and what it raised is not a sentence of ours."""
    if error is None:
        return False
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not any(frame.f_code is _CALL for frame in frames):
        return False
    return not isinstance(error, OURS) or not str(frames[-1].f_globals.get("__name__")).startswith("gossamer.")


def _file_of(frame: FrameType) -> str:
    return os.path.abspath(frame.f_code.co_filename)
