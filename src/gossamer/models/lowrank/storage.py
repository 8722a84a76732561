"""A compressed network on disk: its tensors, the ranks that rebuild it, and the report as text."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_model
from torch import Tensor, nn

from gossamer.models.lowrank.assembly import split_like_
from gossamer.models.lowrank.channels import prune_like_
from gossamer.models.lowrank.folding import fold_like_
from gossamer.models.lowrank.module import LowRankConvolution, LowRankEmbedding, LowRankLinear
from gossamer.models.lowrank.pruning import PRUNE
from gossamer.models.lowrank.report import CompressionReport
from gossamer.models.lowrank.stored_report import AGAIN, one_line, read_report
from gossamer.persistence import ArtifactError
from gossamer.persistence.atomic import look_inside, replacing_directory
from gossamer.persistence.files import checked_size

TENSORS, REPORT, TEXT = "model.safetensors", "report.json", "report.txt"
DRAWING = "layers.svg"  # the command line's, beside them
MAX_REPORT_BYTES = 64 << 20


def save_compressed(small: nn.Module, path: str | os.PathLike[str]) -> None:
    """Write what `compress` returned as the directory `path`, all of it or nothing; shared tensors once.

    A compressed network that is already there is replaced; any other directory, unless empty, is refused. So is a
    network that was compressed twice: its report tells of the second time only, and that is not enough to rebuild it.
    """
    _check_compressed_once(small, _report_of(small))
    write_compressed(small, path)


def write_compressed(small: nn.Module, path: str | os.PathLike[str]) -> None:
    """Save as `save_compressed` does, but also what was split before: for who builds the network with those splits."""
    report, target = _report_of(small), check_place(path)
    with _as_sentence(path), replacing_directory(target) as staging:
        try:
            save_model(small, str(staging / TENSORS))
        except (RuntimeError, ValueError, TypeError, AttributeError) as error:
            raise ValueError(
                f"small must have a state of tensors alone to be saved to {path}, got: {one_line(error)}; "
                "take what is not a tensor, or half of one, out of its state_dict"
            ) from error
        # safetensors makes its file private; who may read the directory must be able to read it.
        (staging / TENSORS).chmod(staging.stat().st_mode & 0o666)
        (staging / REPORT).write_text(json.dumps(report.as_json(), indent=2) + "\n", encoding="utf-8")
        (staging / TEXT).write_text(f"{report}\n", encoding="utf-8")


def check_place(path: str | os.PathLike[str]) -> Path:
    """Return where `path` leads to, or refuse it where something else would be lost there."""
    target = Path(os.path.realpath(path))  # through a link, replace what it points to
    with _as_sentence(path):
        look_inside(target, _check_replaceable)
    return target


def load_compressed(model: nn.Module, path: str | os.PathLike[str]) -> nn.Module:
    """Return the compressed network of `path`; `model` is one like the original and is taken apart for it."""
    if not isinstance(model, nn.Module):
        raise ValueError(
            f"model must be an nn.Module, like the one that was compressed to {path}, got {type(model).__name__}; "
            "build the whole network anew"
        )
    try:
        report, tensors = look_inside(Path(os.path.realpath(path)), _read)
    except OSError as error:
        raise OSError(f"{path} cannot be read: {one_line(error)}; check the path and its permissions") from error
    try:
        small = rebuilt_like_(model, report)
        _fill_(small, tensors)
    except Exception as error:  # whatever another network, or a strange report, makes us trip over
        raise ValueError(
            f"model must be like the one that was compressed to {path}, got: {one_line(error)}; "
            "build it as it was before compress"
        ) from error
    small.compression_report = report  # type: ignore[assignment]
    return small


def rebuilt_like_(model: nn.Module, report: CompressionReport) -> nn.Module:
    """Give a whole network the layers of the one that a report is about, zeros in those that changed, and return it."""
    return fold_like_(_split_like_(model, report), report.folded)


def _split_like_(model: nn.Module, report: CompressionReport) -> nn.Module:
    changed = [layer for layer in report.layers if layer.rank is not None]
    if report.scheme == PRUNE:
        return prune_like_(model, {layer.names: layer.rank for layer in changed if layer.rank is not None})
    ranks = {layer.names[0]: layer.rank for layer in changed if layer.rank is not None}
    return split_like_(model, ranks, scheme=report.scheme)


def _report_of(small: nn.Module) -> CompressionReport:
    report = getattr(small, "compression_report", None)
    if not isinstance(report, CompressionReport):
        raise ValueError(f"small must be a network that compress returned, got {type(small).__name__} without a report")
    if not isinstance(small, nn.Module):
        raise ValueError(f"small must be an nn.Module, got {type(small).__name__}; an estimator has a save of its own")
    return report


def _check_compressed_once(small: nn.Module, report: CompressionReport) -> None:
    """Refuse a network with split layers that its report does not tell of."""
    told = {name for layer in report.layers if layer.rank is not None for name in layer.names}
    names: dict[nn.Module, set[str]] = {}
    for name, module in small.named_modules(remove_duplicate=False):
        names.setdefault(module, set()).add(name)
    # A network that is one layer is told of by the layer's type, which names no part of what it became.
    if told and not told & set().union(*names.values()):
        told.add("")
    for module, known_as in names.items():
        if isinstance(module, LowRankLinear | LowRankConvolution | LowRankEmbedding) and not told & known_as:
            raise ValueError(
                "small must be a network that was whole when it was compressed, got one that was compressed twice "
                f"({min(known_as) or 'the network'} was split before); compress the original once instead, "
                "to the smaller budget"
            )


def _check_replaceable(target: Path) -> None:
    """Refuse to replace anything but nothing, an empty directory or a compressed network with nothing else in it."""
    if not target.exists():
        return
    refusal = f"{target} must be a new or empty directory, or one of a compressed network, to be saved to"
    if not target.is_dir():
        raise ArtifactError(f"{refusal}, got a file; choose another path")
    present = {entry.name for entry in target.iterdir()}
    foreign = sorted(present - {TENSORS, REPORT, TEXT, DRAWING})
    if foreign:
        raise ArtifactError(
            f"{refusal}, got one that also holds {', '.join(foreign[:3])}; move that away or choose another path"
        )
    if present and REPORT not in present:
        raise ArtifactError(f"{refusal}, got one without {REPORT}; choose another path or remove it")


@contextmanager
def _as_sentence(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let an error of the disk be one sentence about `path`."""
    try:
        yield
    except (OSError, SafetensorError) as error:  # the latter where the disk is full, too
        told = f"{path} cannot be written: {one_line(error)}; check the path, its permissions and the room on the disk"
        raise OSError(told) from error


def _read(folder: Path) -> tuple[CompressionReport, dict[str, Tensor]]:
    if not os.path.lexists(folder):
        raise ArtifactError(f"{folder} does not exist; check the path, or save a compressed network there first")
    if not folder.is_dir():
        raise ArtifactError(f"{folder} must be a directory, as save_compressed writes, got a file; give the directory")
    for name, limit in ((REPORT, MAX_REPORT_BYTES), (TENSORS, None)):
        checked_size(Path(os.path.realpath(folder / name)), limit)
    report = read_report(folder / REPORT)
    try:
        return report, load_file(folder / TENSORS)
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ArtifactError(
            f"{folder / TENSORS} must be a whole safetensors file, got: {one_line(error)}; {AGAIN}"
        ) from error


def _fill_(small: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Give a network the tensors that were saved of one like it; those that it shares are there once."""
    own = small.state_dict()
    given = {own[name].untyped_storage().data_ptr() for name in tensors if name in own}
    for name, tensor in tensors.items():
        if name not in own:
            raise ValueError(f"no {name} in it, which was saved")
        if tensor.shape != own[name].shape:
            raise ValueError(f"{name} of shape {tuple(own[name].shape)}, where {tuple(tensor.shape)} was saved")
    for name, tensor in own.items():
        if name not in tensors and tensor.untyped_storage().data_ptr() not in given:
            raise ValueError(f"{name} in it, which was not saved")
    small.load_state_dict(dict(tensors), strict=False)
