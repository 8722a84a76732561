"""What files of the user's own raise, and how it is told."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gossamer.models.lowrank import load_compressed
from gossamer.runner.compressing import compress_own, find_function
from gossamer.runner.compressing_mistakes import (
    OwnMistake,
    call_function,
    describe,
    network_at_work,
    watch_batches,
    watch_loss,
)

WORKING = """
import torch
from torch import nn

def build():
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))

def batches():
    return [(torch.randn(4, 8), torch.randint(3, (4,))) for _ in range(3)]
"""

Refused = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path) -> Refused:
    """Return what is said of a file, with its folder left out."""

    def run(text: str, build: str = "build", data: str = "batches", allocator: str = "uniform") -> str:
        path = tmp_path / "net.py"
        path.write_text(text)
        with pytest.raises(ValueError, match=r"net\.py|data") as caught:
            compress_own(
                f"{path}:{build}", f"{path}:{data}", tmp_path / "small", limits={"params": 0.8}, allocator=allocator
            )
        assert not (tmp_path / "small").exists()
        assert "\n" not in str(caught.value)
        return str(caught.value).replace(f"{tmp_path}/", "")

    return run


def test_a_file_that_cannot_be_run(refused: Refused) -> None:
    begins = "net.py:build must be in a file that can be run, got"
    assert refused("def build(:\n").startswith(f"{begins} SyntaxError: invalid syntax (net.py, line 1); correct it")
    missing = (
        f"{begins} ModuleNotFoundError: No module named 'nowhere_to_be_found' (line 2 of net.py); correct it there"
    )
    assert refused("\nimport nowhere_to_be_found\n") == missing
    assert refused("import sys\nsys.exit(3)\n") == f"{begins} SystemExit: 3 (line 2 of net.py); correct it there"


def test_functions_that_raise(refused: Refused) -> None:
    text = WORKING + "\ndef broken():\n    return {}['weight']\n"
    begins, ends = "must be a function that returns, got KeyError: 'weight' (line", "of net.py); correct it there"
    assert refused(text, build="broken") == f"net.py:broken {begins} 12 {ends}"
    assert refused(text, data="broken") == f"net.py:broken {begins} 12 {ends}"


def test_functions_that_need_arguments(refused: Refused) -> None:
    text = WORKING + "\ndef sized(size):\n    return size\n"
    told = "net.py:sized must be a function that needs no arguments, got missing a required argument: 'size'; give it"
    assert refused(text, build="sized").startswith(told)
    assert refused(text, data="sized").startswith(told)
    assert call_function("net.py:int", int) == 0
    assert call_function("net.py:dict", dict) == {}  # which does not say what it needs


@pytest.mark.parametrize("kind", ["RuntimeError", "ValueError"])
def test_batches_that_raise_on_the_way(kind: str, refused: Refused) -> None:
    """A ValueError is the interesting one: batches that end are told by it, and it must not be taken for an end."""
    text = WORKING + f"\ndef stream():\n    yield torch.randn(4, 8)\n    raise {kind}('no more disk')\n"
    told = f"net.py:stream must give batches to the end, got {kind}: no more disk (line 13 of net.py); correct it there"
    assert refused(text, data="stream") == told


def test_a_network_that_cannot_work_on_the_data(refused: Refused) -> None:
    told = refused(WORKING.replace("randn(4, 8)", "randn(4, 9)"))
    begins = (
        "net.py:build's network could not work on the data: RuntimeError: mat1 and mat2 shapes cannot be multiplied"
    )
    assert told.startswith(begins)
    assert told.endswith("; call it yourself on one batch of net.py:batches")
    text = WORKING + (
        "\nclass Own(nn.Linear):\n"
        "    def forward(self, inputs):\n        raise ValueError(f'no {len(inputs)}')\n"
        "\ndef own():\n    return Own(8, 8)\n"
    )
    assert "net.py:own's network could not work on the data: ValueError: no 4 (line 13 of net.py);" in refused(
        text, build="own"
    )


def test_a_loss_that_raises(refused: Refused) -> None:
    text = WORKING + "\ndef loss(output):\n    return output.sum()\n"
    told = refused(text, allocator="cobla")
    assert told.startswith("net.py:loss must take (output, target), got TypeError: loss() takes 1 positional argument")
    assert told.endswith("; correct it there")


def test_sentences_of_ours_stay_as_they_are(refused: Refused) -> None:
    told = "data must be an iterable of (inputs, target) batches, got int"
    assert refused(WORKING + "\ndef number():\n    return 3\n", data="number") == told
    assert watch_loss("net.py:loss", 3) == 3
    assert watch_batches("net.py:data", "text") == "text"
    with pytest.raises(KeyError, match="ours"), network_at_work("net.py:build", "net.py:batches"):
        raise KeyError("ours")


def test_batches_stay_what_they_are() -> None:
    """Data that can be read again are told from those that cannot by whether they are their own iterator."""
    again = watch_batches("net.py:batches", [1, 2])
    assert [list(again), list(again)] == [[1, 2], [1, 2]]
    assert iter(again) is not again
    once = watch_batches("net.py:batches", iter([1, 2]))
    assert iter(once) is once
    assert [list(once), list(once)] == [[1, 2], []]

    class Unreadable:
        def __iter__(self) -> None:
            raise RuntimeError("not today")

    with pytest.raises(OwnMistake, match=r"net\.py:batches must return what can be read, got RuntimeError: not today"):
        iter(watch_batches("net.py:batches", Unreadable()))


def test_our_own_sentence_inside_a_network_is_not_told_as_theirs() -> None:
    class Careful(nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            return find_function("net")()

    sentence = re.escape("a function must be given as file.py:name, got 'net'")
    with pytest.raises(ValueError, match=f"^{sentence}$"), network_at_work("net.py:build", "net.py:batches"):
        Careful()(torch.zeros(1))


def test_what_compress_has_said_of_a_network_is_said_with_names() -> None:
    def check_pass() -> None:
        try:
            nn.Linear(2, 2)(torch.zeros(1, 3))
        except RuntimeError as error:
            raise ValueError("data must be batches that the model can work on") from error

    names = "net.py:build", "net.py:batches", "net.py:one"
    told = r"^net\.py:build's network could not work on the data: RuntimeError: .*net\.py:batches and of net\.py:one$"
    with pytest.raises(ValueError, match=told), network_at_work(*names):
        check_pass()


def test_a_network_that_says_why_it_raises() -> None:
    class Telling(nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            raise RuntimeError("no weights") from KeyError("weight")

    told = r"could not work on the data: RuntimeError: no weights; "
    with pytest.raises(ValueError, match=told), network_at_work("net.py:build", "net.py:batches"):
        Telling()(torch.zeros(1))


def test_errors_in_one_line() -> None:
    assert describe(RuntimeError("two\n  lines"), "net.py:build") == "RuntimeError: two lines"
    assert describe(RuntimeError(), "net.py:build") == "RuntimeError"


def test_a_network_that_is_loaded_and_compressed_again_is_built_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(
        WORKING + "\nfrom gossamer.models.lowrank import load_compressed\n"
        f"\ndef half():\n    return load_compressed(build(), {str(tmp_path / 'half')!r})\n"
    )
    words = {"limits": {"params": 0.8}, "allocator": "uniform"}
    compress_own(f"{path}:build", f"{path}:batches", tmp_path / "half", **words)
    small = compress_own(f"{path}:half", f"{path}:batches", tmp_path / "quarter", **words)
    inputs = torch.randn(2, 8)
    again = load_compressed(find_function(f"{path}:half")(), tmp_path / "quarter")
    torch.testing.assert_close(again(inputs), small(inputs))
