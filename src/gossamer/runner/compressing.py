"""From what a command line says to a compressed network of the user's own: `file.py:name` is a function to call."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from gossamer.core.checks import check_int
from gossamer.models.lowrank import Budget, SearchSettings, compress, fine_tune, fold_norms, prune
from gossamer.models.lowrank.answers import needs_targets
from gossamer.models.lowrank.batches import divided
from gossamer.models.lowrank.folding import LATER
from gossamer.models.lowrank.pruning import PRUNE
from gossamer.models.lowrank.storage import check_place, write_compressed
from gossamer.runner.compressing_mistakes import (
    call_function,
    network_at_work,
    told_as_theirs,
    watch_batches,
    watch_loss,
)


def is_own(model: str) -> bool:
    """Say whether a name means a function of the user's own, `file.py:name`, rather than a directory.

    >>> is_own("net.py:build")
    True
    """
    if ".py:" in model:
        return True
    if Path(model).is_dir():
        return False
    raise ValueError(f"model must be the directory of a saved model, or file.py:function, got {model!r}")


def compress_own(
    build: str,
    data: str | None,
    out: Path,
    *,
    limits: Mapping[str, Any],
    weights: Path | None = None,
    iterations: int | None = None,
    example: str | None = None,
    fine_tune_steps: int | None = None,
    **options: Any,
) -> nn.Module:
    """Build a user's module, give it weights, compress it on the user's batches, and save it in `out`.

    `build` and `data` are `file.py:function`, as is `example`, for the inputs that are counted and timed in place of
    the first batch; a function `loss(output, target)` in the file of `data` guides the search where there is one, the
    module's own answers otherwise, and so with `fine_tune_steps` of training after it. A function that yields batches
    is called again when they end. The files are executed: they are the user's own. `limits` are the arguments of
    `Budget`; those that are None, here and among `options`, are left to their defaults.
    """
    if fine_tune_steps is not None:
        check_int("fine_tune", fine_tune_steps, at_least=1)
    budget = Budget(**{name: value for name, value in limits.items() if value is not None})
    if data is None:
        raise ValueError(f"data must be given as file.py:function for a network of your own, {build}, got none")
    check_place(out)  # before a search that may take hours
    model = call_function(build, find_function(build))
    if not isinstance(model, nn.Module):
        raise ValueError(f"{build} must return an nn.Module, got {type(model).__name__}")
    if weights is not None:
        _load_weights(model, weights)
    module, name = _open(data)
    function = _function_of(module, name, data)
    found = call_function(data, function)
    batches = watch_batches(data, _CalledAgain(function, found) if isinstance(found, Iterator) else found)
    loss = watch_loss(f"{data.rpartition(':')[0]}:loss", getattr(module, "loss", None))
    search = SearchSettings() if iterations is None else SearchSettings(iterations=iterations)
    inputs = None if example is None else call_function(example, find_function(example))
    said = {name: value for name, value in options.items() if value is not None}
    is_folded_later = bool(said.get("fold")) and fine_tune_steps is not None
    if is_folded_later:
        said["fold"] = LATER
    cuts = said.get("scheme") == PRUNE
    if cuts:
        del said["scheme"]
    with network_at_work(build, data, *([] if example is None else [example])):
        small = (prune if cuts else compress)(
            model, data=batches, budget=budget, loss=loss, search=search, example=inputs, **said
        )
        if fine_tune_steps is not None:
            whole = None if needs_targets(loss) else model
            small = fine_tune(small, data=batches, steps=fine_tune_steps, loss=loss, whole=whole)
        if is_folded_later:
            first, _ = divided(next(iter(batches)), needs_targets=False)
            small = fold_norms(small, example=first if inputs is None else inputs)
    write_compressed(small, out)  # with whatever `build` has split itself: it is what builds the network again
    return small


def refuse_own_options(weights: object, example: object, fine_tune_steps: object) -> None:
    """Refuse, for a saved model, what only a network of the user's own is given."""
    if weights is not None:
        raise ValueError(f"weights must be left out for a saved model, which has its own, got {weights}")
    if example is not None:
        raise ValueError(f"example must be left out for a saved model, which has data of its own, got {example}")
    if fine_tune_steps is not None:
        raise ValueError(f"fine_tune must be left out for a saved model, whose fit trains it, got {fine_tune_steps}")


class _CalledAgain(Iterable[Any]):
    """Batches that a function yields: an iterator is read once, but the function makes another for each reading."""

    def __init__(self, function: Callable[[], Any], first: Iterator[Any]) -> None:
        self._function, self._first, self._is_read = function, first, False

    def __iter__(self) -> Iterator[Any]:
        if not self._is_read:
            self._is_read = True
            return self._first
        found = self._function()
        if found is self._first:
            raise ValueError("the same iterator again, whose batches have been read; make a new one at every call")
        return iter(found)


def find_function(place: str) -> Callable[[], Any]:
    """Return the function that `file.py:name` names."""
    return _function_of(*_open(place), place)


def _function_of(module: ModuleType, name: str, place: str) -> Callable[[], Any]:
    found = getattr(module, name, None)
    if not callable(found):
        raise ValueError(f"{place} must name a function of the file, got no function {name!r} there")
    function: Callable[[], Any] = found
    return function


def _open(place: str) -> tuple[ModuleType, str]:
    file, colon, name = place.rpartition(":")
    if not colon or not file.endswith(".py") or not name:
        raise ValueError(f"a function must be given as file.py:name, got {place!r}")
    path = Path(file)
    if not path.is_file():
        raise ValueError(f"a function must be in a file that exists, got {file!r}")
    spec = importlib.util.spec_from_file_location(f"gossamer_user_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with told_as_theirs(f"{place} must be in a file that can be run", place):
        spec.loader.exec_module(module)
    return module, name


def _load_weights(model: nn.Module, path: Path) -> None:
    try:
        model.load_state_dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise ValueError(f"weights must be a safetensors file, got {path}: {error}") from None
    except RuntimeError as error:
        told = " ".join(str(error).split())  # torch's lines as one
        raise ValueError(f"weights must fit the module, got {path}: {told}") from None
