"""WordNet: which words mean the same, the opposite, something wider or narrower, read from its dictionary files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import polars as pl

from gossamer.core.checks import check_choice
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.source import Files, Source

PARTS_OF_SPEECH = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}
DICTIONARY_FILES = ("data.noun", "data.verb", "data.adj", "data.adv")
POINTERS = {"@": "hypernym", "@i": "hypernym", "~": "hyponym", "~i": "hyponym", "!": "antonym"}
RELATIONS = ("hypernym", "hyponym", "synonym", "antonym")
SOURCE = Source(
    "wordnet",
    (DICTIONARY_FILES,),
    # $WNHOME is WordNet's own variable, the last is where Debian puts the files.
    other_folders=("$WNHOME/dict", "$WNHOME", "/usr/share/wordnet"),
    advice="on Debian and Ubuntu: apt-get install wordnet-base; elsewhere take the dict directory of WordNet 3.0 from "
    "https://wordnet.princeton.edu/download and set WNHOME to the directory above it",
)


@dataclass(frozen=True)
class _Synset:
    """Words that share a meaning, and pointers (relation, target synset, number of own word, of target's word)."""

    part_of_speech: str
    words: tuple[str, ...]
    pointers: tuple[tuple[str, tuple[str, int], int, int], ...]


def load_wordnet(*, relations: Sequence[str] = RELATIONS) -> pl.DataFrame:
    """Return one row per related pair of words: word, relation, other, pos (noun, verb, adj or adv).

    A hypernym is wider: ("stock", "hypernym", "capital"). Synonyms share a synset and come in both orders. Words of
    several parts are joined by underscores, as WordNet writes them. Rows are unique, in the order of the files.
    """
    for relation in relations:
        check_choice("relations", relation, RELATIONS)
    synsets = _read_synsets(SOURCE.obtain())
    rows = [row for row in _edges(synsets) if row[1] in relations]
    return pl.DataFrame(rows, schema=["word", "relation", "other", "pos"], orient="row").unique(maintain_order=True)


def _read_synsets(files: Files) -> dict[tuple[str, int], _Synset]:
    synsets = {}
    for name in DICTIONARY_FILES:
        part_of_speech = name.split(".")[1]
        for number, line in enumerate(files.read_text(name, "latin-1").splitlines(), start=1):
            if line.startswith("  ") or not line:  # the licence at the top
                continue
            try:
                offset, synset = _parse_synset(line, part_of_speech)
            except (ValueError, IndexError, KeyError):
                place = f"{files.paths[name]}, line {number}"
                raise ValueError(f"{place} must be a WordNet synset, got {line[:40]!r}") from None
            synsets[part_of_speech, offset] = synset
    return synsets


def _parse_synset(line: str, part_of_speech: str) -> tuple[int, _Synset]:
    """Parse one line of a data file (wndb(5WN)): offset, file, type, words in hexadecimal count, pointers | gloss."""
    fields = line.split("|", 1)[0].split()
    num_words = int(fields[3], 16)
    # Adjectives carry their position in brackets: galore(ip).
    words = tuple(field.split("(")[0].lower() for field in fields[4 : 4 + 2 * num_words : 2])
    start = 4 + 2 * num_words
    pointers = []
    for position in range(int(fields[start])):
        symbol, target, target_pos, ends = fields[start + 1 + 4 * position : start + 5 + 4 * position]
        if symbol in POINTERS:
            place = (PARTS_OF_SPEECH[target_pos], int(target))
            pointers.append((POINTERS[symbol], place, int(ends[:2], 16), int(ends[2:], 16)))
    return int(fields[0]), _Synset(part_of_speech, words, tuple(pointers))


def _edges(synsets: dict[tuple[str, int], _Synset]) -> Iterator[tuple[str, str, str, str]]:
    for synset in synsets.values():
        for first, second in product(synset.words, repeat=2):
            if first != second:
                yield first, "synonym", second, synset.part_of_speech
        for relation, place, own, other in synset.pointers:
            target = synsets.get(place)
            if target is None:
                raise ValueError(f"wordnet must have the synset {place}, which a pointer names, got no such line")
            # 0 means the whole synset, else the words are counted from 1.
            own_words = synset.words if own == 0 else synset.words[own - 1 : own]
            other_words = target.words if other == 0 else target.words[other - 1 : other]
            for first, second in product(own_words, other_words):
                yield first, relation, second, synset.part_of_speech


DATASETS = {
    "wordnet": Dataset(
        DatasetInfo(
            title="WordNet 3.0: relations between words",
            kind="polars.DataFrame (word, relation, other, pos)",
            size="117,659 synsets",
            licence="WordNet 3.0 licence (permissive)",
            homepage="https://wordnet.princeton.edu/",
            citation="Miller, WordNet: A Lexical Database for English, CACM 38(11), 1995",
        ),
        load_wordnet,
        SOURCE,
    )
}
