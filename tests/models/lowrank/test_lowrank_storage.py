"""To disk and back, shared tensors included."""

from __future__ import annotations

import json
import re
import types
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from small_networks import SmallCNN, SmallLanguageModel, image_batches, token_batches
from torch import nn

from gossamer.models.lowrank import Budget, compress, load_compressed, save_compressed, storage
from gossamer.models.lowrank.storage import check_place, write_compressed
from gossamer.networks.low_rank import LowRankLinear


def build() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))


def compressed(model: nn.Module | None = None, share: float = 0.9) -> nn.Module:
    model = build() if model is None else model
    return compress(model, data=[torch.randn(4, 8)], budget=Budget(params=share), allocator="uniform")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Return the directory of a compressed network."""
    save_compressed(compressed(share=0.7), tmp_path / "small")
    return tmp_path / "small"


def refused(path: Path, message: str) -> None:
    """Check that loading says `message`, in one line, with the path in it."""
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        load_compressed(build(), path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def change_report(path: Path, **values: object) -> None:
    report = json.loads((path / "report.json").read_text())
    (path / "report.json").write_text(json.dumps(report | values))


def test_what_is_loaded_computes_the_same(tmp_path):
    data = token_batches()
    small = compress(SmallLanguageModel(), data=data, budget=Budget(params=0.5), allocator="pos_cvx").eval()
    save_compressed(small, tmp_path / "small")
    again = load_compressed(SmallLanguageModel(), tmp_path / "small").eval()
    torch.testing.assert_close(again(data[0][0]), small(data[0][0]))
    assert again.compression_report == small.compression_report
    assert "model" in (tmp_path / "small" / "report.txt").read_text()
    assert len({path.stat().st_mode for path in (tmp_path / "small").iterdir()}) == 1  # none is private
    with pytest.raises(ValueError, match="ranks must name layers of the network"):
        load_compressed(SmallCNN(), tmp_path / "small")


def test_other_networks_are_refused(tmp_path):
    with pytest.raises(ValueError, match="small must be a network that compress returned, got Linear without a report"):
        save_compressed(nn.Linear(2, 2), tmp_path)
    small = compress(nn.Linear(8, 8), data=[torch.randn(2, 8)], budget=Budget(params=0.9), allocator="uniform")
    save_compressed(small, tmp_path)
    with pytest.raises(ValueError, match="model must be like the one that was compressed"):
        load_compressed(nn.Linear(9, 8), tmp_path)
    with pytest.raises(ValueError, match=r"model must be an nn\.Module, like the one .*, got type; build the whole"):
        load_compressed(nn.Linear, tmp_path)
    estimator = types.SimpleNamespace(compression_report=small.compression_report)
    with pytest.raises(ValueError, match=r"small must be an nn\.Module, got SimpleNamespace; an estimator has a save"):
        save_compressed(estimator, tmp_path)


def test_what_is_missing_is_named(saved):
    refused(saved / "nowhere", "nowhere does not exist; check the path, or save a compressed network there first")
    refused(saved / "report.txt", "must be a directory, as save_compressed writes, got a file; give the directory")
    (saved / "report.json").rename(saved / "kept")
    refused(saved, "report.json is missing: the artifact is incomplete; copy or save it again")
    (saved / "kept").rename(saved / "report.json")
    (saved / "model.safetensors").unlink()
    refused(saved, "model.safetensors is missing: the artifact is incomplete; copy or save it again")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be JSON, got: Expecting value: line 1 column 1 (char 0); copy or save it again"),
        ('{"layers": [', "report.json must be JSON, got: Expecting value"),
        ("[" * 100_000, "report.json must be JSON, got: maximum recursion depth"),
        ("{}", "must be the report that save_compressed wrote, got no layers; copy or save it again"),
        ("[]", "got [] as its content; copy or save it again"),
        ("null", "got None as its content"),
    ],
)
def test_a_report_that_is_none(text, message, saved):
    (saved / "report.json").write_text(text)
    refused(saved, message)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"layers": 3}, "got 3 as layers; copy or save it again"),
        ({"layers": [3]}, "got 3 as layers[0]"),
        ({"layers": [{"names": "01"}]}, "got no layers[0].kind"),
        ({"before": {"macs": "many"}}, "got 'many' as before.macs"),
        ({"before": {"macs": 3}}, "got: before must have params, got {'macs': 3}"),
        ({"fitted": 1}, "got 1 as fitted"),
        ({"seconds": True}, "got True as seconds"),
        ({"folded": [["0"]]}, "got ['0'] as folded[0]"),
        ({"iterations": {}}, "got {} as iterations"),
        ({"scheme": "sideways"}, "got: scheme must be one of"),
        ({"future": 1}, "got future, which this version does not know"),
    ],
)
def test_a_report_of_other_kinds_of_values(values, message, saved):
    change_report(saved, **values)
    refused(saved, message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rank": "3"}, "must be the report that save_compressed wrote, got '3' as layers[0].rank"),
        ({"rank": 99}, "got: rank of 0 must be an integer >= 1 and <= 8, got 99; build it as it was before compress"),
        ({"names": []}, "model must be like the one that was compressed to"),
        ({"names": ["9"]}, "ranks must name layers of the network, got '9'; build it as it was before compress"),
    ],
)
def test_a_report_of_other_layers(change, message, saved):
    first, *others = json.loads((saved / "report.json").read_text())["layers"]
    change_report(saved, layers=[first | change, *others])
    refused(saved, message)


def test_tensors_that_are_none_or_others(saved):
    path = saved / "model.safetensors"
    content, tensors = path.read_bytes(), load_file(path)
    for size in (0, 7, 40, len(content) - 1):
        path.write_bytes(content[:size])
        refused(saved, "model.safetensors must be a whole safetensors file, got: ")
    save_file(tensors | {"0.0.weight": torch.zeros(2, 2)}, path)
    refused(saved, "got: 0.0.weight of shape")
    save_file(tensors | {"more": torch.zeros(2)}, path)
    refused(saved, "got: no more in it, which was saved; build it as it was before compress")
    save_file({name: tensor for name, tensor in tensors.items() if name != "0.1.bias"}, path)
    refused(saved, "got: 0.1.bias in it, which was not saved")


def test_what_cannot_be_read_is_told(saved, monkeypatch):
    def read(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(storage, "load_file", read)
    with pytest.raises(OSError, match=r"^/.*small cannot be read: Permission denied: /.*; check the path and its perm"):
        load_compressed(build(), saved)


def test_only_a_compressed_network_is_replaced(saved, tmp_path):
    (saved / "layers.svg").write_text("the drawing of the command line")
    small = compressed(share=0.6)
    save_compressed(small, saved)
    assert {path.name for path in saved.iterdir()} == {"model.safetensors", "report.json", "report.txt"}
    assert load_compressed(build(), saved).compression_report == small.compression_report
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(
        ValueError, match=r"to be saved to, got one that also holds notes\.txt; move that away or choose"
    ):
        save_compressed(small, saved)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(
        ValueError, match=r"file must be a new or empty directory, or one of .*, got a file; choose anoth"
    ):
        save_compressed(small, tmp_path / "file")
    with pytest.raises(
        OSError, match=r"small cannot be written: Not a directory: /.*; check the path, its permissions"
    ):
        check_place(tmp_path / "file" / "small")
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "model.safetensors").write_text("mine")
    with pytest.raises(ValueError, match=r"got one without report\.json; choose another path or remove it"):
        save_compressed(small, tmp_path / "weights")
    assert (tmp_path / "weights" / "model.safetensors").read_text() == "mine"


def test_all_is_written_or_nothing(saved, tmp_path, monkeypatch):
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    small, first = compressed(share=0.6), compressed()

    def fail(path, *_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail)
    for path, network in ((saved, small), (tmp_path / "new", first)):
        with pytest.raises(
            OSError, match="cannot be written: No space left on device; check the path, its permissions"
        ):
            save_compressed(network, path)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["small"]


def test_what_is_no_tensor_is_not_saved(tmp_path):
    class Noted(nn.ReLU):
        def get_extra_state(self):
            return {"note": 3}

        def set_extra_state(self, state):
            pass

    small = compressed(nn.Sequential(nn.Linear(8, 8), Noted()))
    with pytest.raises(ValueError, match=r"small must have a state of tensors alone to be saved to .*, got: "):
        save_compressed(small, tmp_path / "small")
    assert not list(tmp_path.iterdir())


def test_what_was_compressed_twice_is_refused(tmp_path):
    twice = compressed(compressed(share=0.8), share=0.8)
    with pytest.raises(ValueError, match=r"got one that was compressed twice .* compress the original once instead"):
        save_compressed(twice, tmp_path / "small")
    assert not list(tmp_path.iterdir())
    layer = compressed(compressed(nn.Linear(8, 8)), share=0.8)
    with pytest.raises(ValueError, match=r"compressed twice \(the network was split before\)"):
        save_compressed(layer, tmp_path / "small")


def test_a_builder_that_splits_itself_brings_back_what_was_split_again(tmp_path):
    def split() -> nn.Module:
        return nn.Sequential(LowRankLinear(8, 8, 4, bias=True), nn.Linear(8, 8))

    small = compressed(split(), share=0.7)
    write_compressed(small, tmp_path / "small")
    inputs = torch.randn(3, 8)
    torch.testing.assert_close(load_compressed(split(), tmp_path / "small")(inputs), small(inputs))


@pytest.mark.parametrize("make", [SmallCNN, SmallLanguageModel])
def test_what_was_compressed_once_is_never_taken_for_twice(make, tmp_path):
    data = image_batches() if make is SmallCNN else token_batches()
    small = compress(make(), data=data, budget=Budget(params=0.4), allocator="uniform").eval()
    save_compressed(small, tmp_path / "small")
    again = load_compressed(make(), tmp_path / "small").eval()
    torch.testing.assert_close(again(data[0][0]), small(data[0][0]))
