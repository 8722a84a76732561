"""`gossamer compress`: a saved model, or a file of one's own, to a directory; with report and drawing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import COLUMNS, Gossamer

NETWORK = """
import torch
from torch import nn

def build():
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))

def batches():
    return [(torch.randn(4, 8), torch.randint(3, (4,))) for _ in range(3)]
"""


def test_a_network_is_compressed_and_drawn(gossamer: Gossamer) -> None:
    Path("net.py").write_text(NETWORK)
    words = ("net.py:build", "-d", "net.py:batches", "--params", 0.8, "--macs", 0.9, "--allocator", "pos_cvx")
    done = gossamer("compress", *words, "-o", "small")
    assert done.code == 0, done.err
    assert "params left" in done.out
    assert "saved to small" in done.out
    assert {path.name for path in Path("small").iterdir()} == {
        "layers.svg",
        "model.safetensors",
        "report.json",
        "report.txt",
    }


def test_mistakes_are_sentences(gossamer: Gossamer) -> None:
    Path("net.py").write_text(NETWORK)
    done = gossamer("compress", "net.py:build", "-d", "net.py:batches", "-o", "small")
    assert done.code == 2
    assert "budget must have at least one of macs, params, bytes, milliseconds, got none" in done.err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "randn(4, 8)",
            "randn(4, 9)",
            "net.py:build's network could not work on the data: RuntimeError: mat1 and mat2",
        ),
        ("def build():", "def build(:", "net.py:build must be in a file that can be run, got SyntaxError: "),
        ("import torch\n", "import nothing\n", "in a file that can be run, got ModuleNotFoundError: No module named"),
        ("Linear(8, 3)", "Linear(8)", "net.py:build must be a function that returns, got TypeError: "),
        ("range(3)", "range('3')", "net.py:batches must be a function that returns, got TypeError: 'str' object"),
        ("batches()", "batches(size)", "net.py:batches must be a function that needs no arguments, got missing a requ"),
    ],
)
def test_mistakes_in_the_users_file_are_the_users(old: str, new: str, message: str, gossamer: Gossamer) -> None:
    Path("net.py").write_text(NETWORK.replace(old, new))
    words = ("net.py:build", "-d", "net.py:batches", "--params", 0.8, "--allocator", "uniform")
    done = gossamer("compress", *words, "-o", "small")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert not Path("small").exists()


def test_out_is_a_new_place_or_a_result(gossamer: Gossamer) -> None:
    Path("net.py").write_text(NETWORK)
    words = ("net.py:build", "-d", "net.py:batches", "--params", 0.8, "--allocator", "uniform", "-o")
    done = gossamer("compress", *words, "net.py")
    assert done.code == 2
    assert "net.py must be a new or empty directory, or one of a compressed network, to be saved to, got a" in done.err
    assert Path("net.py").read_text() == NETWORK
    done = gossamer("compress", *words, ".")
    assert done.code == 2
    assert "got one that also holds net.py; move that away or choose another path" in done.err
    assert gossamer("compress", *words, "small").code == 0
    assert gossamer("compress", *words, "small").code == 0  # as `fit` does, which replaces a model


TEXTS = ["ham and eggs and ham", "eggs and ham and eggs", "vote in court in vote", "court in vote in court"]
SMALL = {"embedding_dim": 8, "hidden_dim": 8, "num_layers": 1, "epochs": 1, "num_steps": 4, "batch_size": 2}
SEARCH = {"num_samples": "null", "search_rows": 2, "calibration_batches": 2, "polish": 1}


@pytest.fixture
def language_model(gossamer: Gossamer) -> str:
    """Return a saved language model of a file of texts."""
    Path("mail.csv").write_text("text\n" + "\n".join(TEXTS * 10) + "\n", encoding="utf-8")
    settings = [word for item in (SMALL | SEARCH).items() for word in ("--set", "{}={}".format(*item))]
    done = gossamer("fit", "compressed-language-model", "--data", "mail.csv", *settings, "--out", "words")
    assert done.code == 0, done.err
    return "words"


def test_a_saved_model_has_examples_and_a_training_of_its_own(gossamer: Gossamer, language_model: str) -> None:
    done = gossamer("compress", language_model, "--bytes", 0.5, "--example", "net.py:one", "-o", "small")
    assert done.code == 2
    assert "example must be left out for a saved model, which has data of its own, got net.py:one" in done.err
    done = gossamer("compress", language_model, "--bytes", 0.5, "--fine-tune", 20, "-o", "small")
    assert done.code == 2
    assert "fine_tune must be left out for a saved model, whose fit trains it, got 20" in done.err


def test_a_saved_model_is_compressed_and_judged(gossamer: Gossamer, language_model: str) -> None:
    words = ("--bytes", 0.8, "--keep", "embedding", "--iterations", 2)
    done = gossamer("compress", language_model, *words, "--out", "small")
    assert done.code == 0, done.err
    assert "gossamer evaluate small" in done.out
    assert Path("small-layers.svg").is_file()
    done = gossamer("evaluate", "small", "--json")
    assert done.code == 0, done.err
    measured = json.loads(done.out)
    assert measured["model"] == "compressed-language-model"
    assert measured["metrics"]["bytes_share"] <= 0.8
    config = json.loads(Path("small/config.json").read_text())
    assert measured["metrics"] == config["metrics"]
    assert config["arguments"]["keep"] == ["embedding"]
    # Other texts than its own are training data as a whole.
    Path("other.csv").write_text("text\n" + "\n".join(TEXTS) + "\n", encoding="utf-8")
    done = gossamer(
        "compress", language_model, "--params", 0.9, "-d", "other.csv", "--allocator", "uniform", "-o", "two"
    )
    assert done.code == 0, done.err
    assert gossamer("evaluate", "two").code == 0


def test_mistakes_with_saved_models_are_sentences(gossamer: Gossamer, language_model: str, ratings: Path) -> None:
    def message(*words: object) -> str:
        done = gossamer("compress", *words, "--out", "small")
        assert done.code == 2
        return " ".join(done.err.split())

    assert gossamer("fit", "popularity", "--data", ratings.name, *COLUMNS, "--out", "others").code == 0
    kinds = "must be a model with a network to be compressed, such as compressed-classifier, mult-vae or sentence-vae"
    assert (
        f"{kinds}, got one of Popularity (it has no network); for a network of your own give file.py:function"
        in message("others", "--params", 0.5)
    )
    assert "scheme must be left out for compressed-language-model" in message(language_model, "--scheme", "channel")
    assert "budget must have at least one of macs, params" in message(language_model)
    assert "weights must be left out for a saved model" in message(language_model, "--weights", "w.safetensors")
    assert "model must be the directory of a saved model, or file.py:function" in message("nowhere", "--params", 0.5)
    done = gossamer("compress", language_model, "--params", 0.9, "--allocator", "uniform", "--out", "small")
    assert done.code == 0, done.err
    assert "must be whole to be compressed, got one that is compressed already" in message("small", "--params", 0.8)
