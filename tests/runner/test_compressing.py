"""Functions in files of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from gossamer.models.lowrank import load_compressed
from gossamer.runner.compressing import compress_own, find_function, is_own

NETWORK = """
import torch
from torch import nn

def build():
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))

def batches():
    return [(torch.randn(4, 8), torch.randint(3, (4,))) for _ in range(3)]

def number():
    return 3

def one():
    return torch.randn(1, 8)
"""


@pytest.fixture
def network(tmp_path: Path) -> str:
    path = tmp_path / "net.py"
    path.write_text(NETWORK)
    return str(path)


def test_a_network_of_ones_own(network: str, tmp_path: Path) -> None:
    original = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
    save_file(original.state_dict(), tmp_path / "w.safetensors")
    small = compress_own(
        f"{network}:build",
        f"{network}:batches",
        tmp_path / "small",
        limits={"params": 0.8, "macs": None},
        weights=tmp_path / "w.safetensors",
        iterations=2,
        example=f"{network}:one",
    )
    again = load_compressed(find_function(f"{network}:build")(), tmp_path / "small")
    inputs = torch.randn(2, 8)
    torch.testing.assert_close(again(inputs), small(inputs))
    words = (f"{network}:build", f"{network}:batches", tmp_path / "other")
    with pytest.raises(ValueError, match="example must have a tensor among the inputs, got"):
        compress_own(*words, limits={"params": 0.8}, example=f"{network}:number")


def test_a_network_of_ones_own_is_trained_on(network: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    save_file(find_function(f"{network}:build")().state_dict(), tmp_path / "w.safetensors")
    places = (f"{network}:build", f"{network}:batches")
    options = {"limits": {"params": 0.8}, "weights": tmp_path / "w.safetensors", "allocator": "pos_cvx"}
    untouched, tuned = (
        compress_own(*places, tmp_path / f"after-{steps}", fine_tune_steps=steps, **options) for steps in (None, 20)
    )
    assert not torch.equal(tuned[2].bias, untouched[2].bias)
    again = load_compressed(find_function(places[0])(), tmp_path / "after-20")
    inputs = torch.randn(2, 8)
    torch.testing.assert_close(again(inputs), tuned(inputs))
    with pytest.raises(ValueError, match="fine_tune must be an integer >= 1, got 0"):
        compress_own(*places, tmp_path / "none", **options, fine_tune_steps=0)
    assert not (tmp_path / "none").exists()


BY_ANSWERS = """
from gossamer.models.lowrank import ByAnswers

def distance(output, answers):
    assert len(answers) == 4
    return (output - answers).abs().mean()

loss = ByAnswers(distance)

def images():
    return [torch.randn(4, 8) for _ in range(3)]
"""


@pytest.mark.parametrize("steps", [None, 5])
def test_a_distance_to_answers_may_be_ones_own(steps: int | None, network: str, tmp_path: Path) -> None:
    Path(network).write_text(NETWORK + BY_ANSWERS)
    places = (f"{network}:build", f"{network}:images")
    small = compress_own(*places, tmp_path / "small", limits={"params": 0.8}, iterations=2, fine_tune_steps=steps)
    assert small.compression_report.share("params") <= 0.8
    Path(network).write_text(NETWORK + BY_ANSWERS.replace("abs().mean()", "nothing()"))
    with pytest.raises(ValueError, match=r"net\.py:loss must take \(output, target\), got AttributeError"):
        compress_own(*places, tmp_path / "none", limits={"params": 0.8}, iterations=2, fine_tune_steps=steps)


NORMED = NETWORK.replace("nn.ReLU()", "nn.BatchNorm1d(8), nn.ReLU()")


@pytest.mark.parametrize("example", [None, "one"])
def test_batch_norms_are_folded_after_training(example: str | None, network: str, tmp_path: Path) -> None:
    assert NORMED != NETWORK
    Path(network).write_text(NORMED)
    options = {"limits": {"params": 0.8}, "allocator": "pos_cvx", "fold": True, "fine_tune_steps": 5}
    options |= {"example": example and f"{network}:{example}"}
    small = compress_own(f"{network}:build", f"{network}:batches", tmp_path / "small", **options)
    assert not any(isinstance(module, nn.BatchNorm1d) for module in small.modules())
    again = load_compressed(find_function(f"{network}:build")(), tmp_path / "small")
    inputs = torch.randn(2, 8)
    torch.testing.assert_close(again.eval()(inputs), small.eval()(inputs))


GENERATORS = """
def stream():
    yield from batches()

opened = stream()

def opened_once():
    return opened
"""


@pytest.mark.parametrize("allocator", ["cobla", "pos_cvx"])
def test_a_function_that_yields_batches_is_called_again_when_they_end(
    allocator: str, network: str, tmp_path: Path
) -> None:
    Path(network).write_text(NETWORK + GENERATORS)
    options = {"limits": {"params": 0.8}, "allocator": allocator, "iterations": 2}
    words = (f"{network}:build", f"{network}:stream")
    small = compress_own(*words, tmp_path / "small", **options, fine_tune_steps=5)  # of three batches
    assert small.compression_report.share("params") <= 0.8
    words = (f"{network}:build", f"{network}:opened_once")
    with pytest.raises(ValueError, match="opened_once must return what can be read, got ValueError: the same itera"):
        compress_own(*words, tmp_path / "none", **options, fine_tune_steps=5)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("net", "a function must be given as file.py:name, got 'net'"),
        ("nowhere.py:build", "a function must be in a file that exists, got 'nowhere.py'"),
        ("{}:missing", "must name a function of the file, got no function 'missing' there"),
    ],
)
def test_places_that_are_none(place: str, message: str, network: str) -> None:
    with pytest.raises(ValueError, match=message):
        find_function(place.format(network))


def test_what_is_no_module_and_weights_that_do_not_fit(network: str, tmp_path: Path) -> None:
    arguments = {"data": f"{network}:batches", "out": tmp_path / "small", "limits": {"params": 0.8}}
    with pytest.raises(ValueError, match=r"must return an nn\.Module, got int"):
        compress_own(f"{network}:number", **arguments)
    save_file({"other": torch.zeros(2)}, tmp_path / "w.safetensors")
    with pytest.raises(ValueError, match="weights must fit the module, got"):
        compress_own(f"{network}:build", **arguments, weights=tmp_path / "w.safetensors")
    (tmp_path / "no.safetensors").write_text("nothing")
    with pytest.raises(ValueError, match="weights must be a safetensors file, got"):
        compress_own(f"{network}:build", **arguments, weights=tmp_path / "no.safetensors")


CONVOLUTIONS = """
import torch
from torch import nn

def build():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 3, 3))

def batches():
    return [(torch.randn(2, 3, 6, 6), None)]
"""


def test_channels_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(CONVOLUTIONS)
    words = (f"{path}:build", f"{path}:batches", tmp_path / "small")
    small = compress_own(*words, limits={"macs": 0.5}, scheme="prune", allocator="uniform")
    assert small[0].out_channels == 4


def test_what_is_a_function_and_what_a_directory(network: str, tmp_path: Path) -> None:
    assert is_own(f"{network}:build")
    assert not is_own(str(tmp_path))
    with pytest.raises(ValueError, match=r"must be the directory of a saved model, or file\.py:function, got 'net'"):
        is_own("net")
    with pytest.raises(ValueError, match=r"data must be given as file\.py:function for a network of your own, "):
        compress_own(f"{network}:build", None, tmp_path / "small", limits={"params": 0.8})
