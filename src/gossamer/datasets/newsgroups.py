"""20 Newsgroups: the bag of words that NVDM and NFA use, and the raw messages."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np

from gossamer.core.checks import check_choice
from gossamer.data import Counts
from gossamer.data.readers import read_counts
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.labelled_texts import LabelledTexts
from gossamer.datasets.source import Download, Files, Source, check_count

GROUPS = (
    "alt.atheism",
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "soc.religion.christian",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
)
NVDM_ADDRESS = "https://raw.githubusercontent.com/ysmiao/nvdm/HEAD/data/20news"
NVDM_SIZES = {"train": (11_268, 1_128_881), "test": (7_505, 720_898)}
RAW_SIZES = {"train": 11_314, "test": 7_532}

# NVDM states no checksums: documents and tokens are counted instead.
NVDM_SOURCE = Source(
    "20news",
    (("nvdm2000_train.feat", "nvdm2000_test.feat", "nvdm2000_vocab.new"),),
    tuple(
        Download(f"{NVDM_ADDRESS}/{name}", saved_as=f"nvdm2000_{name}")
        for name in ("train.feat", "test.feat", "vocab.new")
    ),
)
RAW_ARCHIVE = "20news-bydate.tar.gz"
RAW_SOURCE = Source(
    "20news",
    (("raw_bydate_train.jsonl.xz", "raw_bydate_test.jsonl.xz"), (RAW_ARCHIVE,)),
    (
        Download(
            "https://ndownloader.figshare.com/files/5975967",
            "sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610",
            saved_as=RAW_ARCHIVE,
        ),
    ),
)


def load_20news(*, part: str = "train") -> Counts:
    """Return NVDM's counts of 2,000 words in `part` "train" or "test", labelled by newsgroup."""
    check_choice("part", part, ["train", "test"])
    files = NVDM_SOURCE.obtain()
    path = files.checked_path(f"nvdm2000_{part}.feat")
    counts = read_counts(path, vocabulary=files.paths["nvdm2000_vocab.new"], classes=range(1, len(GROUPS) + 1))
    documents, tokens = NVDM_SIZES[part]
    check_count("documents", len(counts), documents, path)
    check_count("tokens", int(counts.matrix.sum(dtype=np.float64)), tokens, path)
    return replace(counts, label_names=GROUPS)


def load_20news_raw(*, part: str = "train") -> LabelledTexts:
    """Return the whole messages of `part` "train" or "test" (the by-date split), headers included."""
    check_choice("part", part, ["train", "test"])
    files = RAW_SOURCE.obtain()
    messages = list(_lines(files, part) if f"raw_bydate_{part}.jsonl.xz" in files else _members(files, part))
    check_count("messages", len(messages), RAW_SIZES[part], files.directory)
    labels = np.array([GROUPS.index(group) for group, _ in messages], dtype=np.int32)
    return LabelledTexts(tuple(text for _, text in messages), labels, GROUPS)


def _lines(files: Files, part: str) -> Iterator[tuple[str, str]]:
    for line in files.read_text(f"raw_bydate_{part}.jsonl.xz").splitlines():
        message = json.loads(line)
        yield message["label"], message["text"]


def _members(files: Files, part: str) -> Iterator[tuple[str, str]]:
    """Read the messages inside the archive; it is never unpacked."""
    with tarfile.open(files.paths[RAW_ARCHIVE]) as archive:
        found = [member for member in archive if member.isreg()]
        for member in sorted(found, key=lambda member: member.name):
            parts = PurePosixPath(member.name).parts
            if len(parts) == 3 and parts[0] == f"20news-bydate-{part}" and parts[1] in GROUPS:
                stream = archive.extractfile(member)
                assert stream is not None  # it is a regular file
                yield parts[1], stream.read().decode("latin-1")


def _info(title: str, kind: str, size: str) -> DatasetInfo:
    return DatasetInfo(
        title=title,
        kind=kind,
        size=size,
        licence="none stated (public Usenet posts)",
        homepage="http://qwone.com/~jason/20Newsgroups/",
        citation="Lang, NewsWeeder, ICML 1995; Miao, Yu and Blunsom, Neural Variational Inference for Text, ICML 2016",
    )


DATASETS = {
    "20news": Dataset(
        _info(
            "20 Newsgroups, NVDM's bag of words",
            "Counts",
            "11,268 train and 7,505 test documents × 2,000 words, 20 groups",
        ),
        load_20news,
        NVDM_SOURCE,
        parts=tuple(NVDM_SIZES),
    ),
    "20news-raw": Dataset(
        _info(
            "20 Newsgroups, raw messages by date",
            "LabelledTexts",
            "11,314 train and 7,532 test messages, 20 groups",
        ),
        load_20news_raw,
        RAW_SOURCE,
    ),
}
