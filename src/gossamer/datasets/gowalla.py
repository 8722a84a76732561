"""Gowalla: places people checked in at, with the split of NGCF and LightGCN."""

from __future__ import annotations

import numpy as np

from gossamer.core.checks import check_choice
from gossamer.data import Interactions, Vocabulary
from gossamer.data.readers import read_interactions
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.source import Download, Source, check_count

ADDRESS = "https://raw.githubusercontent.com/gusye1234/LightGCN-PyTorch/HEAD/data/gowalla"
NUM_USERS, NUM_ITEMS = 29_858, 40_981
NUM_PAIRS = {"train": 810_128, "test": 217_242}
# Nobody publishes checksums: the loader checks the published numbers of pairs instead.
SOURCE = Source(
    "gowalla",
    (("train.txt", "test.txt"),),
    (Download(f"{ADDRESS}/train.txt"), Download(f"{ADDRESS}/test.txt")),
)


def load_gowalla(*, part: str = "train") -> Interactions:
    """Return the check-ins of `part` "train", "test" or "all", without ratings and times; parts share their ids."""
    check_choice("part", part, ["train", "test", "all"])
    if part == "all":
        halves = [load_gowalla(part=half).pairs() for half in ("train", "test")]
        users, items = (np.concatenate(columns) for columns in zip(*halves, strict=True))
        ids = Vocabulary.numbered(NUM_USERS), Vocabulary.numbered(NUM_ITEMS)
        return Interactions.from_pairs(users, items, user_ids=ids[0], item_ids=ids[1], duplicates="error")
    files = SOURCE.obtain()
    path = files.checked_path(f"{part}.txt")
    pairs = read_interactions(
        path,
        format="adjacency",
        user_ids=Vocabulary.numbered(NUM_USERS),
        item_ids=Vocabulary.numbered(NUM_ITEMS),
    )
    check_count("check-ins", pairs.nnz, NUM_PAIRS[part], path)
    return pairs


DATASETS = {
    "gowalla": Dataset(
        DatasetInfo(
            title="Gowalla: check-ins at places, LightGCN's split",
            kind="Interactions",
            size="29,858 users × 40,981 places, 810,128 train and 217,242 test pairs",
            licence="none stated (SNAP research data)",
            homepage="https://github.com/gusye1234/LightGCN-PyTorch",
            citation="He et al., LightGCN, SIGIR 2020; Cho, Myers and Leskovec, Friendship and Mobility, KDD 2011",
        ),
        load_gowalla,
        SOURCE,
    )
}
