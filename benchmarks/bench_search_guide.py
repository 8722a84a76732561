"""What should guide COBLA's search: the loss of the classes, or the whole network's own answers?

    python benchmarks/bench_search_guide.py docs/families/lowrank.md

A ResNet-20 is trained without augmentation until it knows its training images by heart, as the pretrained NIN does.
Then it is compressed, guided by either, on images that are shifted and flipped, flipped alone, or left as they are, and
judged by images held out of its training: no test image is looked at, since a default is chosen here. Results go to
results/bench/search-guide.json and into the page. About a quarter of an hour of one core.
"""

from __future__ import annotations

import argparse
import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from measuring import RESULTS
from pages import in_lines, write_between

from gossamer import datasets
from gossamer.data.arrays import LabelledArrays
from gossamer.models.lowrank import CompressedClassifier
from gossamer.models.lowrank.compressed_network import GUIDES
from gossamer.models.lowrank.images import AUGMENTATIONS
from gossamer.persistence.strict_json import plain_json
from gossamer.runner.machine import commit, machine, versions

NAME = "search-guide"
NUM_TRAIN, NUM_HELD_OUT, EPOCHS = 12_000, 6_000, 14
TREATMENTS = {"as is": {"fitted": False, "recalibrate": False}, "fitted": {}}
BUDGETS = (0.7, 0.5, 0.3)
RULE = "pos_cvx"


def main() -> None:
    parser = argparse.ArgumentParser(description="guides of the search for masks")
    parser.add_argument("page", type=Path, help="where the table goes")
    page = parser.parse_args().page
    torch.set_num_threads(1)
    images = datasets.load("cifar10", part="train")
    order = np.random.default_rng(0).permutation(len(images.inputs))
    train, held_out = images[order[:NUM_TRAIN]], images[order[NUM_TRAIN : NUM_TRAIN + NUM_HELD_OUT]]
    revision, is_dirty = commit()
    record = measure(train, held_out)
    record |= {"data": images.fingerprint(), "commit": revision, "dirty": is_dirty}
    record |= {"machine": machine(), "versions": versions()}
    text = json.dumps(plain_json("record", record), indent=1)
    (RESULTS / f"{NAME}.json").write_text(text + "\n", encoding="utf-8")
    write_between(page, NAME, table(record))


def measure(train: LabelledArrays, held_out: LabelledArrays) -> dict[str, Any]:
    """Train once, compress in every way, and return what is kept of the held-out images."""
    whole = CompressedClassifier(
        network="resnet20", epochs=EPOCHS, batch_size=64, augmentation="none", search_rows=64, polish=20, random_state=0
    ).fit(train)
    rows = []
    for treatment, settings in TREATMENTS.items():
        for budget in BUDGETS:
            for guide, augmentation in [(RULE, "full"), *((g, a) for g in GUIDES for a in AUGMENTATIONS)]:
                small = copy.deepcopy(whole).set_params(macs=budget, params=budget, augmentation=augmentation)
                chosen = {"allocator": RULE} if guide == RULE else {"guide": guide}
                small.set_params(**settings, **chosen).compress(train)
                row = {"treatment": treatment, "budget": budget, "guide": guide, "augmentation": augmentation}
                rows.append(row | {"accuracy": small.evaluate(held_out)["accuracy"]})
                print(rows[-1], flush=True)
    known = {"train": train[:2000], "held_out": held_out}
    return {"whole": {name: whole.evaluate(part)["accuracy"] for name, part in known.items()}, "rows": rows}


def table(record: dict[str, Any]) -> str:
    """Return a sentence on the network and a table with a column per guide and augmentation."""
    found = {(row["treatment"], row["budget"], row["guide"], row["augmentation"]): row for row in record["rows"]}
    columns = [(RULE, "full"), *((guide, augmentation) for guide in GUIDES for augmentation in AUGMENTATIONS)]
    titles = ["POS-CVX", *(f"{guide}, {augmentation}" for guide, augmentation in columns[1:])]
    lines = ["| | budget | " + " | ".join(titles) + " |", "|---|---|" + "--:|" * len(titles)]
    for treatment in TREATMENTS:
        for budget in BUDGETS:
            values = [found[treatment, budget, *column]["accuracy"] for column in columns]
            shown = [f"**{value:.3f}**" if value == max(values) else f"{value:.3f}" for value in values]
            lines.append(f"| {treatment} | {budget} | " + " | ".join(shown) + " |")
    known = record["whole"]
    intro = in_lines(
        f"A ResNet-20 trained without augmentation (it knows {known['train']:.3f} of its training images, "
        f"{known['held_out']:.3f} of those held out), compressed by COBLA with either guide on images that are shifted "
        f"and flipped (full), flipped, or left as they are (none); accuracy on {NUM_HELD_OUT:,} images held out of its "
        "training (`benchmarks/bench_search_guide.py`, one seed):"
    )
    return intro + "\n\n" + "\n".join(lines)


if __name__ == "__main__":
    main()
