"""Codes of documents, texts, histories and rows of numbers: the features that are on, by name, and their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from scipy import sparse

from gossamer.data.counts import Counts
from gossamer.data.parts import UNKNOWN_WORD
from gossamer.data.readers.documents import plain_ending
from gossamer.data.sentences import Sentences
from gossamer.data.text import build_sentences, count_words, split_words
from gossamer.data.vocabulary import Vocabulary
from gossamer.serving.errors import CannotAnswer
from gossamer.serving.loading import LoadedModel
from gossamer.serving.names import Id
from gossamer.serving.settings import MOST_ROWS

Document = Mapping[Any, float]  # by id; a mapping of one kind of ids is none of both kinds to mypy
Code = list[dict[str, Any]]


@dataclass(frozen=True)
class Given:
    """What is to be encoded: `kind` says what the rows are."""

    kind: str
    rows: Sequence[Any]


def look_at(
    documents: Sequence[Document] | None = None,
    texts: Sequence[str] | None = None,
    histories: Sequence[Sequence[Id]] | None = None,
    rows: Sequence[Sequence[float]] | None = None,
) -> Given:
    """Return which one was given, or say that one must be."""
    ways: dict[str, Sequence[Any] | None] = {
        "documents": documents,
        "texts": texts,
        "histories": histories,
        "rows": rows,
    }
    given = [Given(kind, data) for kind, data in ways.items() if data is not None]
    if len(given) != 1 or not len(given[0].rows):
        raise ValueError(f"one of {', '.join(ways)} must be given, with something in it")
    return given[0]


def encode_all(model: LoadedModel, questions: Sequence[Given]) -> list[dict[str, Any]]:
    """Answer all questions to one model: rows of one kind go through it together, whoever gave them."""
    ways: dict[str, Callable[[LoadedModel, Sequence[Any]], list[Code]]] = {
        "documents": encode_documents,
        "texts": encode_texts,
        "histories": encode_histories,
        "rows": encode_rows,
    }
    codes: list[list[Code]] = [[]] * len(questions)
    for kind, places in _together(questions):
        found = iter(ways[kind](model, [row for place in places for row in questions[place].rows]))
        for place in places:
            codes[place] = list(islice(found, len(questions[place].rows)))
    return [{"model": model.name, "codes": found} for found in codes]


def _together(questions: Sequence[Given]) -> Iterator[tuple[str, list[int]]]:
    """Yield places of questions of one kind that have, together, no more rows than one question may have."""
    by_kind: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        by_kind.setdefault(question.kind, []).append(place)
    for kind, places in by_kind.items():
        taken: list[int] = []
        for place in places:
            if taken and sum(len(questions[other].rows) for other in (*taken, place)) > MOST_ROWS:
                yield kind, taken
                taken = []
            taken.append(place)
        yield kind, taken


def encode_documents(model: LoadedModel, documents: Sequence[Document]) -> list[Code]:
    """Return the codes of documents that are given as counts of terms; terms that are not known do not count."""
    _check_encodes(model)
    terms, names = _terms(model, "documents"), model.names
    assert names is not None
    counts = [
        {place: float(document[term]) for place, term in names.split(document)[0].items()} for document in documents
    ]
    return _codes(model, Counts(_matrix(counts, len(names)), terms))


def encode_histories(model: LoadedModel, histories: Sequence[Sequence[Id]]) -> list[Code]:
    """Return the codes of lists of items, each of which counts once."""
    return encode_documents(model, [dict.fromkeys(map(str, history), 1.0) for history in histories])


def encode_texts(model: LoadedModel, texts: Sequence[str]) -> list[Code]:
    """Return the codes of texts, cut into words as those of the training data were."""
    _check_encodes(model)
    options = _data_options(model)
    if hasattr(model.estimator, "words_"):
        return _codes(model, _sentences(model, texts, str(options.get("name", ""))))
    pattern = options.get("pattern", r"[a-z]+")
    return _codes(model, count_words(texts, vocabulary=_terms(model, "texts"), pattern=pattern))


def _sentences(model: LoadedModel, texts: Sequence[str], source: str) -> Sentences:
    """Return texts over the model's words; others become `<unk>`, or go where it has none."""
    names = model.names
    assert names is not None
    cut = str.split if plain_ending(source) == ".txt" else split_words
    has_unknown = names.find(UNKNOWN_WORD) >= 0

    def known_words(text: str) -> list[str]:
        return [word for word in cut(text) if has_unknown or names.find(word) >= 0]

    unknown = UNKNOWN_WORD if has_unknown else None
    return build_sentences(texts, vocabulary=model.estimator.words_, unknown=unknown, tokenizer=known_words)


def encode_rows(model: LoadedModel, rows: Sequence[Sequence[float]]) -> list[Code]:
    """Return the codes of rows of numbers, one per column of the training data."""
    _check_encodes(model)
    width = getattr(model.estimator, "n_features_in_", None)
    if width is None:
        raise CannotAnswer(
            f"rows must be left out for {model.name!r} ({model.kind}) which reads no numbers; give texts"
        )
    for row in rows:
        if len(row) != width:
            raise ValueError(f"rows must have {width} numbers each, as the training data have, got {len(row)}")
    return _codes(model, sparse.csr_array(np.array(rows, dtype=np.float32)))


def _check_encodes(model: LoadedModel) -> None:
    if "encode" not in model.questions:
        raise CannotAnswer(f"the model must encode, which {model.name!r} ({model.kind}) does not do")


def _terms(model: LoadedModel, given: str) -> Vocabulary:
    terms = getattr(model.estimator, "terms_", None)
    if not isinstance(terms, Vocabulary):
        raise CannotAnswer(f"{given} must be left out for {model.name!r} ({model.kind}) which counts no terms")
    return terms


def _matrix(counts: Sequence[Mapping[int, float]], num_terms: int) -> sparse.csr_array:
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in counts])])
    indices = np.array([place for row in counts for place in row], dtype=np.int32)
    values = np.array([value for row in counts for value in row.values()], dtype=np.float32)
    matrix = sparse.csr_array((values, indices, indptr), shape=(len(counts), num_terms))
    matrix.sort_indices()
    return matrix


def _data_options(model: LoadedModel) -> dict[str, Any]:
    """Return what the artifact remembers of how its texts were read; nothing where it remembers nothing."""
    from gossamer.runner.provenance import read_origin  # late: it knows every data set, and a server starts without

    try:
        data = read_origin(model.config).data
    except ValueError:
        return {}
    return {**data.options, "name": data.name}


def _codes(model: LoadedModel, data: Any) -> list[Code]:
    """Return, for every row, the features that are not zero."""
    codes = sparse.csr_array(model.estimator.transform(data))
    names = _feature_names(model, codes.shape[1])
    parts = (slice(codes.indptr[row], codes.indptr[row + 1]) for row in range(codes.shape[0]))
    return [
        [
            {"name": names[place], "value": float(value)}
            for place, value in zip(codes.indices[part], codes.data[part], strict=True)
        ]
        for part in parts
    ]


def _feature_names(model: LoadedModel, width: int) -> list[str]:
    named = getattr(model.estimator, "get_feature_names_out", None)
    return [str(number) for number in range(width)] if named is None else list(map(str, named()))
