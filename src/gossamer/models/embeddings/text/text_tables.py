"""The table of word vectors a text model trains: any method, at its start, with what is known of the words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int
from scipy import sparse
from torch import nn

from gossamer import datasets
from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import RandomState, derive_seed, numpy_generator
from gossamer.data.sentences import Sentences
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.embeddings.anchor import AnchorEmbedding
from gossamer.models.embeddings.explain import largest_pairs, words_induced
from gossamer.models.embeddings.knowledge.anchors import initialise_anchors
from gossamer.models.embeddings.knowledge.anchors_select import STRATEGIES, most_important, random_basis
from gossamer.models.embeddings.knowledge.cooccurrence import count_words_together, ppmi_features
from gossamer.models.embeddings.knowledge.relations import Relations, free_entries
from gossamer.models.embeddings.rivals.vocabulary import tf_idf_scores
from gossamer.models.embeddings.sizing import INITIAL_STD
from gossamer.models.embeddings.sparse_rows import fit_codes
from gossamer.models.embeddings.table import EmbeddingTable, budget_of
from gossamer.models.embeddings.tables import find_table, make_table, takes_counts
from gossamer.models.embeddings.text.text_pruning import Pruning

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

ANCHOR_INITS = (*STRATEGIES, "codes", "frequency-codes")
FEATURES = ("cooccurrence", "glove")
RELATIONS = ("none", "cooccurrence", "wordnet", "both")
FEATURE_DIM = 64  # of co-occurrence features
STARTING_ENTRIES = 6  # of a row, where anchors and codes are taken from features
RELATED_AT = 5  # co-occurrences that relate two words; at 1, as in the paper, frequent anchors relate to every word


@dataclass(frozen=True)
class WordTable:
    """What a text estimator says of its table: a method of `TABLES`, its size, and for "ant" how it begins.

    `ratio` is the size for every method. "ant" may have `num_anchors` and `num_slots` instead, or beside a `ratio`,
    which then is the size it is pruned to in training. `options` are other arguments of the table's own.

    `anchor_init` is a strategy of `initialise_anchors`, or "codes": anchors and T are the best sparse code of the
    features; or "frequency-codes": the most frequent words are the anchors, with vectors as free as a dense table's,
    and every other word begins as the sparse code of its features over theirs.
    """

    method: str
    embedding_dim: int
    ratio: float | None = None
    num_anchors: int | None = None
    num_slots: int | None = None
    anchor_init: str = "random"
    features: str = "cooccurrence"
    relations: str = "none"
    options: Mapping[str, Any] = field(default_factory=dict)
    random_state: RandomState = 0
    numbers_beside: int = 0  # per word, stored beside the table, such as an output bias; `ratio` includes them

    def check(self) -> None:
        """Raise a ValueError that names the first wrong setting."""
        find_table(self.method)
        check_int("embedding_dim", self.embedding_dim, at_least=1)
        if self.ratio is not None:
            check_real("ratio", self.ratio, at_least=1)
            if self.ratio * self.numbers_beside >= self.embedding_dim:
                raise ValueError(f"ratio must be below embedding_dim, {self.embedding_dim}, got {self.ratio!r}")
        for name in ("num_anchors", "num_slots"):
            if getattr(self, name) is not None:
                check_int(name, getattr(self, name), at_least=1)
                if self.method != "ant":
                    raise ValueError(f"{name} must be None for method {self.method!r}, got {getattr(self, name)!r}")
        check_choice("anchor_init", self.anchor_init, ANCHOR_INITS)
        check_choice("features", self.features, FEATURES)
        check_choice("relations", self.relations, RELATIONS)
        if not isinstance(self.options, Mapping):
            raise ValueError(f"options must be a mapping of arguments of the table, got {self.options!r}")

    @property
    def table_ratio(self) -> float | None:
        """The ratio of the table alone: V·D over what is left for it."""
        if self.ratio is None or self.ratio == 1:
            return self.ratio
        return self.embedding_dim / (self.embedding_dim / self.ratio - self.numbers_beside)

    @property
    def is_post_hoc(self) -> bool:
        """Whether a dense table is trained, and converted afterwards."""
        return find_table(self.method).is_post_hoc

    def check_divided(self) -> None:
        """Refuse what needs to see all texts at once; words are counted by every process in its own."""
        needs_texts = self.anchor_init == "tfidf" or (self._needs_features and self.features != "glove")
        if self.method == "ant" and needs_texts:
            raise ValueError(
                "anchor_init must be 'random' or 'frequency', or with features='glove' any but 'tfidf', where "
                f"processes divide texts, got {self.anchor_init!r}"
            )
        if self.relations in ("cooccurrence", "both"):
            raise ValueError(f"relations must be none or wordnet where processes divide texts, got {self.relations!r}")
        if self.method == "tfidf":
            raise ValueError("method must not be 'tfidf' where processes divide texts, got 'tfidf'")

    @property
    def _needs_features(self) -> bool:
        return self.anchor_init in ("clustering", "frequency-clustering", "coreset", "frequency-codes", "codes")

    def build(self, data: Sentences, sharing: Sharing | None = None) -> EmbeddingTable:
        """Return the table that is trained on `data`, or a share of them, with a row for each of its words."""
        size = {} if self.table_ratio is None else {"ratio": self.table_ratio}
        if self.is_post_hoc:
            return make_table("dense", len(data.vocabulary), self.embedding_dim, random_state=self._seed("table"))
        if self.method == "ant":
            return self._build_anchors(data, sharing)
        options = {**size, **self.options, "random_state": self._seed("table")}
        counts = self._counts(data, sharing)
        return make_table(self.method, len(data.vocabulary), self.embedding_dim, counts=counts, **options)

    def convert(self, trained: EmbeddingTable, data: Sentences, sharing: Sharing | None = None) -> EmbeddingTable:
        """Return the table to store: a post-hoc method's version of a dense one, or the trained one, finished."""
        if not self.is_post_hoc:
            trained.finish()
            return trained
        kind = find_table(self.method)
        options: dict[str, Any] = {} if self.table_ratio is None else {"ratio": self.table_ratio}
        options |= self.options
        if takes_counts(kind):
            options["counts"] = self._counts(data, sharing)
        return kind.from_pretrained(trained.weight, **options)

    def pruning(
        self, table: EmbeddingTable, data: Sentences, num_updates: int, sharing: Sharing | None = None
    ) -> Pruning | None:
        """Return what brings T down to `ratio` in `num_updates`, where it is not as small by its shape."""
        if self.method != "ant" or self.table_ratio is None or not isinstance(table, AnchorEmbedding):
            return None
        num_entries = budget_of(table.num_embeddings, table.embedding_dim, self.table_ratio) - table.anchors.numel()
        if num_entries < 1:
            raise ValueError(f"ratio must leave room for more than {table.num_anchors} anchors, got {self.ratio:g}")
        if table.values.numel() <= num_entries:
            return None
        return Pruning(table, self._counts(data, sharing), num_entries=num_entries, num_updates=num_updates)

    def _build_anchors(self, data: Sentences, sharing: Sharing | None) -> AnchorEmbedding:
        ratio = self.table_ratio if self.num_anchors is None else None
        table = AnchorEmbedding(
            len(data.vocabulary),
            self.embedding_dim,
            self.num_anchors,
            ratio=ratio,
            num_slots=self.num_slots,
            random_state=self._seed("table"),
            **self.options,
        )
        if self.anchor_init == "codes":
            table, words = self._coded(table, data)
        else:
            words = self._initialised(table, data, sharing)
        if self.anchor_init != "frequency-codes":
            _balance(table)
        if self.relations != "none":
            table.set_exempt(free_entries(self._relations(data), words))
        return table

    def _initialised(self, table: AnchorEmbedding, data: Sentences, sharing: Sharing | None) -> np.ndarray:
        """Start a table by a strategy of section 3.1 and return the word each anchor stands for."""
        counts = tf_idf_scores(word_counts(data)) if self.anchor_init == "tfidf" else self._counts(data, sharing)
        words = initialise_anchors(
            table,
            "frequency" if self.anchor_init == "frequency-codes" else self.anchor_init,
            counts=counts,
            features=self._features(data) if self._needs_features else None,
            random_state=self._seed("anchors"),
        )
        # A random basis stands for no words; relations need some, and take the most frequent ones.
        return most_important(counts, table.num_anchors) if words is None else words

    def _coded(self, table: AnchorEmbedding, data: Sentences) -> tuple[AnchorEmbedding, np.ndarray]:
        """Return a table whose T·A is the best sparse code of the features, and each anchor's heaviest word."""
        features, generator = self._features(data), numpy_generator(self._seed("codes"))
        points = features @ random_basis(features.shape[1], self.embedding_dim, random_state=generator).numpy()
        unknown = ~features.any(axis=1)
        points *= INITIAL_STD / max(float(np.sqrt(np.square(points[~unknown]).mean())), 1e-12)
        points[unknown] = INITIAL_STD * generator.standard_normal((int(unknown.sum()), self.embedding_dim))
        # Few entries, because the search for them costs the cube of their number; the other slots begin free.
        num_entries = min(table.num_slots, STARTING_ENTRIES)
        anchors, codes = fit_codes(points, table.num_anchors, num_entries, sweeps=3, random_state=generator)
        table = AnchorEmbedding.from_codes(anchors, codes, num_slots=table.num_slots, **self.options)
        return table, np.asarray(codes.argmax(axis=0)).ravel()

    def _features(self, data: Sentences) -> np.ndarray:
        """Return a feature vector per word, zeros where nothing is known."""
        if self.features == "glove":
            glove = datasets.load("glove")
            places = glove.words.find(data.vocabulary.ids)
            found: np.ndarray = glove.vectors[np.maximum(places, 0)].astype(np.float32)
            found[places < 0] = 0
            return found
        width = min(FEATURE_DIM, self.embedding_dim, len(data.vocabulary) - 1)
        return ppmi_features(count_words_together(data), max(width, 1), random_state=self._seed("features"))

    def _relations(self, data: Sentences) -> Relations:
        graphs = []
        if self.relations in ("cooccurrence", "both"):
            graphs.append(Relations.from_cooccurrence(data, min_count=RELATED_AT))
        if self.relations in ("wordnet", "both"):
            graphs.append(Relations.from_wordnet(data.vocabulary))
        return graphs[0] if len(graphs) == 1 else graphs[0] | graphs[1]

    def _counts(self, data: Sentences, sharing: Sharing | None) -> np.ndarray:
        if self.method == "tfidf":
            return tf_idf_scores(word_counts(data))
        counts = np.bincount(data.tokens, minlength=len(data.vocabulary))
        return counts if sharing is None else sharing.sum(counts)

    def _seed(self, purpose: str) -> RandomState:
        state = self.random_state
        return derive_seed(state, purpose) if isinstance(state, int) else numpy_generator(state)


def word_counts(data: Sentences) -> sparse.csr_array:
    """Return how often each word stands in each text, (texts, V)."""
    ones = np.ones(len(data.tokens), dtype=np.float32)
    counts = sparse.csr_array((ones, data.tokens.copy(), data.offsets.copy()), shape=(len(data), len(data.vocabulary)))
    counts.sum_duplicates()
    return counts


def _balance(table: AnchorEmbedding) -> None:
    """Scale T to numbers of size `INITIAL_STD` and anchors the other way, so that vectors stay what they are.

    Adam moves every number by about its rate: with anchors small and T large, anchors would run and words stand still.
    Where anchors are words ("frequency-codes") that is as it should be: an anchor is the vector of its own word, whose
    weight is 1, and it moves as fast as a row of a dense table does.
    """
    entries = table.values.data[table.values.data > 0]
    factor = INITIAL_STD / float(entries.square().mean().sqrt())
    table.values.data.mul_(factor)
    table.anchors.data.div_(factor)


def table_of(network: nn.Module) -> EmbeddingTable:
    """Return the table of word vectors inside a text network."""
    table = network.embedding
    assert isinstance(table, EmbeddingTable)
    return table


def size_report(table: EmbeddingTable) -> dict[str, float]:
    """Return what a table stores, beside the numbers of a dense one."""
    dense = table.num_embeddings * table.embedding_dim
    values = table.num_values()
    return {"dense_values": dense, "values": values, "bytes": table.nbytes(), "ratio": dense / values}


def entries_per_row(table: EmbeddingTable) -> dict[str, Int[np.ndarray, " V"]]:
    """Return how many anchors each word is made of, for `inspect`; nothing for tables without anchors."""
    return {"words": np.diff(table.transform().indptr)} if isinstance(table, AnchorEmbedding) else {}


def explain_table(table: EmbeddingTable, words: Vocabulary, n: int) -> dict[str, Any]:
    """Return the words with the longest vectors, which say most, and for anchors what table 4 of the paper shows."""
    check_int("n", n, at_least=1)
    lengths = table.weight.norm(dim=1).numpy()
    longest = np.argsort(-lengths, kind="stable")[:n]
    tables = {"longest vectors": [{"word": str(words[int(i)]), "length": float(lengths[i])} for i in longest]}
    if isinstance(table, AnchorEmbedding) and table.nnz():
        tables["words an anchor induces"] = words_induced(table, words, n)
        tables["largest pairs"] = largest_pairs(table, words, n)
    return tables
