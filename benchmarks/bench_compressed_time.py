"""Does a network that was compressed to 0.75 of its measured time take 0.75 of it when it is timed again?

    python benchmarks/bench_compressed_time.py docs/families/lowrank.md

NIN and ResNet-20 with new weights, compressed to three quarters and to half of their time for one image and for 64 by
POS-CVX, beside half of their multiply-adds; ResNet-20 with its batch norms folded into its convolutions, because it
cannot be so fast otherwise, and with its channels cut, too. Each is timed against its original in turns, the fastest of
many runs, and so is every split layer against the layer that it stands for, on the inputs that this layer really gets:
"slowest layer" is the largest of those shares, and above 1 where a split layer is slower than the whole one. Two
convolutions with fewer channels between them are timed together. The table goes between the marks `written:
compressed-time` of the page.
Run it alone on the machine; about 3 minutes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import torch
from measuring import RESULTS
from pages import write_between
from torch import Tensor, nn

from gossamer.models.lowrank import Budget, compress, prune
from gossamer.models.lowrank.pruning import PRUNE
from gossamer.models.lowrank.timing import milliseconds_of
from gossamer.networks.nin import NIN
from gossamer.networks.resnet import ResNet
from gossamer.persistence.strict_json import plain_json
from gossamer.runner.machine import commit, machine, versions

NAME = "compressed-time"
SIZES = (64, 1)
TIME, HALF_TIME, HALF = {"milliseconds": 0.75}, {"milliseconds": 0.5}, {"macs": 0.5}
CASES: list[tuple[str, Callable[[], nn.Module], dict[str, float], str, bool]] = [
    ("NIN", NIN, TIME, "spatial", False),
    ("NIN", NIN, TIME, "channel", False),
    ("NIN", NIN, HALF_TIME, "spatial", False),
    ("NIN", NIN, HALF_TIME, "channel", False),
    ("NIN", NIN, HALF, "spatial", False),
    ("NIN", NIN, HALF, "channel", False),
    ("ResNet-20, folded", ResNet, TIME, "spatial", True),
    ("ResNet-20, folded", ResNet, TIME, PRUNE, True),
    ("ResNet-20, folded", ResNet, HALF_TIME, PRUNE, True),
    ("ResNet-20, folded", ResNet, HALF, "spatial", True),
    ("ResNet-20", ResNet, HALF, "spatial", False),
]


def main() -> None:
    parser = argparse.ArgumentParser(description="times of compressed networks and of their layers")
    parser.add_argument("page", nargs="?", type=Path, help="a page with the mark of the table")
    parser.add_argument("--small", action="store_true", help="a few runs of each, to try the script; not written")
    arguments = parser.parse_args()
    repeats = 2 if arguments.small else 60
    rows = [measure(*case, size, repeats) for case in CASES for size in SIZES]
    revision, is_dirty = commit()
    record = {"rows": rows, "repeats": repeats, "commit": revision, "dirty": is_dirty}
    record |= {"machine": machine(), "versions": versions()}
    table = in_table(record)
    print(table)
    if not arguments.small:
        text = json.dumps(plain_json("record", record), indent=1) + "\n"
        (RESULTS / f"{NAME}.json").write_text(text, encoding="utf-8")
    if arguments.page:
        write_between(arguments.page, NAME, table)


def measure(
    name: str, make: Callable[[], nn.Module], budget: dict[str, float], scheme: str, fold: bool, size: int, repeats: int
) -> dict[str, Any]:
    """Compress a network for `size` images at a time, and time it and its layers again."""
    torch.manual_seed(0)
    whole = make().eval()
    images = torch.randn(4 * max(SIZES), 3, 32, 32).contiguous(memory_format=torch.channels_last)
    batches, inputs = list(images.split(max(SIZES))), images[:size]
    said = ", ".join(f"{cost}={share}" for cost, share in budget.items())
    row: dict[str, Any] = {"network": name, "scheme": scheme, "budget": said, "at a time": size}
    options = {"allocator": "pos_cvx", "fold": fold, "budget": Budget(**budget)}
    compressor = prune if scheme == PRUNE else partial(compress, scheme=scheme)
    try:
        small = compressor(whole, data=batches, example=inputs, **options)
    except ValueError as error:
        return row | {"failed": str(error)}
    before, after = milliseconds_of([partial(whole, inputs), partial(small, inputs)], repeats)
    row |= {"milliseconds_before": before, "milliseconds": after, "share": after / before}
    return row | {"slowest_layer": slowest(whole, small, inputs, repeats)}


@torch.no_grad()
def slowest(whole: nn.Module, small: Any, inputs: Tensor, repeats: int) -> float:
    """Return the time of the changed layer that is slowest as a share of what it stands for; 0 without any.

    Where channels were cut, what changed is two convolutions, the first and the last name of a row of the report.
    """
    changed = [{layer.names[0], layer.names[-1]} for layer in small.compression_report.layers if layer.rank is not None]
    given = [inputs_of(model, set().union(*changed), inputs) for model in (whole, small)]
    shares = [0.0]
    for names in changed:
        actions = [
            partial(run, [(model.get_submodule(name), seen[name]) for name in names])
            for model, seen in zip((whole, small), given, strict=True)
        ]
        before, after = milliseconds_of(actions, repeats)
        shares.append(after / before)
    return max(shares)


def inputs_of(model: nn.Module, names: Collection[str], inputs: Tensor) -> dict[str, Tensor]:
    """Return what some layers of a network are given."""
    seen: dict[str, Tensor] = {}
    hooks = [
        model.get_submodule(name).register_forward_pre_hook(lambda _, given, name=name: seen.update({name: given[0]}))
        for name in names
    ]
    model(inputs)
    for hook in hooks:
        hook.remove()
    return seen


def run(calls: list[tuple[nn.Module, Tensor]]) -> None:
    """Let each layer work on its inputs."""
    for layer, given in calls:
        layer(given)


def in_table(record: dict[str, Any]) -> str:
    """Return the rows as Markdown."""
    lines = ["| network | scheme | budget | images at a time | share of time | slowest layer |"]
    lines.append("|:--|:--|:--|--:|--:|--:|")
    for row in record["rows"]:
        found = f"{row['share']:.3f} | {row['slowest_layer']:.2f}" if "share" in row else "out of reach | "
        lines.append(f"| {row['network']} | {row['scheme']} | {row['budget']} | {row['at a time']} | {found} |")
    where = f"fastest of {record['repeats']} runs on {record['machine']['cores']} cores"
    return "\n".join([*lines, "", f"POS-CVX, new weights; {where}; commit {(record['commit'] or 'unknown')[:10]}."])


if __name__ == "__main__":
    main()
