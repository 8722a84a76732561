"""Three data sets that are always there: Python's own standard library, read as data.

Real, sparse and long-tailed, free, and the same for everyone with the same interpreter. The files are parsed, never
imported or executed. Some distributions leave Python's tests out; `tests=False` leaves them out everywhere.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import polars as pl
from scipy import sparse

from gossamer.core.checks import check_choice
from gossamer.data import Counts, Interactions, Sentences, Sequences, Vocabulary
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.stdlib_source import StdlibSource, library_directory, load_stdlib_source

__all__ = ["DATASETS", "library_directory", "load_stdlib_calls", "load_stdlib_docs", "load_stdlib_usage"]

TEST_PACKAGES = frozenset({"test", "tests", "idle_test"})
MIN_MODULES_PER_NAME = 6  # with the next line: about 1,400 modules × 1,600 names
MIN_NAMES_PER_MODULE = 5
MIN_WORDS_PER_DOCSTRING = 5  # about 10,000 docstrings
MIN_DOCSTRINGS_PER_LABEL = 20
OTHER_LABEL = "(other)"
MAX_TERMS = 2000
MIN_DOCUMENTS_PER_TERM = 5
MIN_OCCURRENCES_PER_WORD = 3
UNKNOWN_WORD = "<unk>"
MIN_FUNCTIONS_PER_NAME = 5
MIN_CALLS_PER_FUNCTION = 2


def load_stdlib_usage(*, tests: bool = True) -> Interactions:
    """Return which module (user) uses which names (item), with the number of uses as rating.

    A use is a call, or a mention of an imported or built-in name (raised, caught, inherited, passed on); how names
    are written is in `stdlib_names`. Names of fewer than 6 modules and modules with fewer than 5 names are dropped,
    repeatedly. The user feature `package` is the module's top-level package.
    """
    source = load_stdlib_source()
    chosen = _chosen_modules(source, tests)
    triples = np.array(
        [(module, name, count) for module in np.flatnonzero(chosen) for name, count in source.uses[module]]
    )
    while True:
        modules, names, _ = triples.T
        enough_modules = np.bincount(names)[names] >= MIN_MODULES_PER_NAME
        enough_names = np.bincount(modules)[modules] >= MIN_NAMES_PER_MODULE
        if (enough_modules & enough_names).all():
            break
        triples = triples[enough_modules & enough_names]
    users = Vocabulary([source.modules[module] for module in np.unique(modules)])
    items = Vocabulary(sorted(source.names[name] for name in np.unique(names)))
    return Interactions.from_pairs(
        [source.modules[module] for module in modules],
        [source.names[name] for name in names],
        triples[:, 2].astype(np.float32),
        duplicates="sum",
        user_ids=users,
        item_ids=items,
        user_features=pl.DataFrame({"package": [_package(str(module)) for module in users]}),
    )


def load_stdlib_docs(*, form: str = "counts", tests: bool = True) -> Counts | Sentences:
    """Return the docstrings of modules, classes and functions, labelled by top-level package.

    `form="counts"` counts the 2,000 most frequent words that are no stop words; `form="sentences"` keeps all words
    in order, those seen less than three times as `<unk>`. Both have the same documents in the same order, and words
    are runs of letters in lower case. Packages with fewer than 20 docstrings share the label "(other)".
    """
    check_choice("form", form, ["counts", "sentences"])
    source = load_stdlib_source()
    chosen = _chosen_modules(source, tests)
    documents = {
        owner: (module, words)
        for owner, module, text in source.docstrings
        if chosen[module] and len(words := re.findall(r"[a-z]+", text.lower())) >= MIN_WORDS_PER_DOCSTRING
    }
    texts = [words for _, words in documents.values()]
    terms = _frequent_terms(texts)
    counts = _count_terms(texts, terms)
    with_terms = np.diff(counts.indptr) > 0
    packages = [_package(source.modules[module]) for module, _ in documents.values()]
    packages = [package for package, kept in zip(packages, with_terms, strict=True) if kept]
    sizes = Counter(packages)
    label_names = (*sorted(name for name, size in sizes.items() if size >= MIN_DOCSTRINGS_PER_LABEL), OTHER_LABEL)
    numbers = {name: number for number, name in enumerate(label_names)}
    labels = np.array([numbers.get(package, len(label_names) - 1) for package in packages], dtype=np.int32)
    if form == "counts":
        owners = [owner for owner, kept in zip(documents, with_terms, strict=True) if kept]
        return Counts(counts[with_terms], Vocabulary(terms), Vocabulary(owners), labels, label_names)
    return _sentences([words for words, kept in zip(texts, with_terms, strict=True) if kept], labels, label_names)


def load_stdlib_calls(*, tests: bool = True) -> Sequences:
    """Return the names each function calls, in the order of evaluation as the source shows it.

    Branches and loops are read once, from top to bottom. Names called by fewer than 5 functions are left out, then
    functions with fewer than 2 calls. `names` are the functions' dotted paths; a path that is defined more than once
    (a property and its setter) is numbered `#2`, `#3` ….
    """
    source = load_stdlib_source()
    functions = [(function, called) for function, called in source.calls if tests or not _is_test(function.split("."))]
    callers = Counter(name for _, called in functions for name in set(called))
    kept = sorted(
        (name for name, count in callers.items() if count >= MIN_FUNCTIONS_PER_NAME), key=source.names.__getitem__
    )
    events = {name: event for event, name in enumerate(kept)}
    seen: Counter[str] = Counter()
    names, observations, lengths = [], [], []
    for function, called in functions:
        sequence = [events[name] for name in called if name in events]
        if len(sequence) < MIN_CALLS_PER_FUNCTION:
            continue
        seen[function] += 1
        names.append(function if seen[function] == 1 else f"{function}#{seen[function]}")
        observations.extend(sequence)
        lengths.append(len(sequence))
    return Sequences(
        observations=np.array(observations, dtype=np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        vocabulary=Vocabulary([source.names[name] for name in kept]),
        names=Vocabulary(names),
    )


def _chosen_modules(source: StdlibSource, tests: bool) -> np.ndarray:
    return np.array([tests or not _is_test(module.split(".")) for module in source.modules])


def _is_test(parts: list[str]) -> bool:
    return not TEST_PACKAGES.isdisjoint(parts)


def _package(module: str) -> str:
    return module.split(".")[0]


def _frequent_terms(texts: list[list[str]]) -> list[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    document_counts = Counter(word for words in texts for word in set(words))
    frequent = [
        (-count, word)
        for word, count in document_counts.items()
        if count >= MIN_DOCUMENTS_PER_TERM and len(word) > 2 and word not in ENGLISH_STOP_WORDS
    ]
    return sorted(word for _, word in sorted(frequent)[:MAX_TERMS])


def _count_terms(texts: list[list[str]], terms: list[str]) -> sparse.csr_array:
    columns = {term: column for column, term in enumerate(terms)}
    rows, found = [], []
    for row, words in enumerate(texts):
        for word in words:
            if word in columns:
                rows.append(row)
                found.append(columns[word])
    ones = np.ones(len(rows), dtype=np.float32)
    counts = sparse.coo_array((ones, (rows, found)), shape=(len(texts), len(terms))).tocsr()
    counts.sum_duplicates()
    return counts


def _sentences(texts: list[list[str]], labels: np.ndarray, label_names: tuple[str, ...]) -> Sentences:
    occurrences = Counter(word for words in texts for word in words)
    known = sorted(word for word, count in occurrences.items() if count >= MIN_OCCURRENCES_PER_WORD)
    numbers = {word: number for number, word in enumerate(known, start=1)}
    tokens = np.array([numbers.get(word, 0) for words in texts for word in words], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(words) for words in texts])]).astype(np.int64)
    return Sentences(tokens, offsets, Vocabulary([UNKNOWN_WORD, *known]), labels, label_names)


def _info(title: str, kind: str, size: str) -> DatasetInfo:
    return DatasetInfo(
        title=title,
        kind=kind,
        size=f"{size} (Python 3.11)",
        licence="PSF-2.0",
        homepage="https://docs.python.org/3/library/",
        citation="Python Software Foundation, The Python Standard Library",
    )


DATASETS = {
    "stdlib-usage": Dataset(
        _info(
            "which module of Python's library uses which names",
            "Interactions",
            "1,450 modules × 1,563 names, 51,911 pairs",
        ),
        load_stdlib_usage,
    ),
    "stdlib-docs": Dataset(
        _info(
            "docstrings of Python's library, by package",
            "Counts, or Sentences with form='sentences'",
            "10,308 docstrings × 2,000 words, 75 labels",
        ),
        load_stdlib_docs,
    ),
    "stdlib-calls": Dataset(
        _info(
            "the names each function of Python's library calls, in order",
            "Sequences",
            "35,147 functions, 246,750 calls of 3,793 names",
        ),
        load_stdlib_calls,
    ),
}
