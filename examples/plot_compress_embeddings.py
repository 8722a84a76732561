"""A network that is trained already, its table of word vectors made smaller, and what that costs in accuracy.

    python examples/plot_compress_embeddings.py           # writes compress_embeddings.svg

The network is plain PyTorch: it tells from a docstring's words which package of the standard library it belongs to.
`compress_embeddings_` replaces its table, by anchors and by two rivals. Runs in well under a minute on a CPU.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import torch
from torch import Tensor, nn

from gossamer import datasets
from gossamer.models.embeddings.compress import compress_embeddings_
from gossamer.report.figures import size_curves

WIDTH, RATIOS = 64, (4, 12)
Documents = tuple[Tensor, Tensor, Tensor, Tensor]  # word ids, where documents begin, weights of words, labels


class Classifier(nn.Module):
    """The package of a document, linear in the sum of its words' vectors."""

    def __init__(self, num_words: int, num_labels: int) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(num_words, WIDTH, mode="sum")
        self.output = nn.Linear(WIDTH, num_labels)

    def forward(self, ids: Tensor, offsets: Tensor, weights: Tensor) -> Tensor:
        """Return one score per label for each document."""
        scores: Tensor = self.output(self.words(ids, offsets, per_sample_weights=weights))
        return scores


def read_documents() -> tuple[Documents, Documents, int, int]:
    data = datasets.load("stdlib-docs")
    order = torch.randperm(len(data), generator=torch.Generator().manual_seed(0)).numpy()
    parts = []
    for rows in (order[: len(data) * 4 // 5], order[len(data) * 4 // 5 :]):
        counts = data.matrix[rows]
        weights = torch.tensor(counts.data).log1p()
        starts = torch.tensor(counts.indptr[:-1], dtype=torch.long)
        labels = torch.tensor(data.labels[rows], dtype=torch.long)
        parts.append((torch.tensor(counts.indices, dtype=torch.long), starts, weights, labels))
    return parts[0], parts[1], len(data.terms), len(data.label_names)


def train(model: nn.Module, documents: Documents, updates: int) -> None:
    *inputs, labels = documents
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(updates):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(*inputs), labels).backward()
        optimiser.step()


@torch.no_grad()
def accuracy(model: nn.Module, documents: Documents) -> float:
    *inputs, labels = documents
    return float((model(*inputs).argmax(dim=1) == labels).float().mean())


def main() -> None:
    training, test, num_words, num_labels = read_documents()
    torch.manual_seed(0)
    dense = Classifier(num_words, num_labels)
    train(dense, training, updates=40)
    curves = {"dense": [(num_words * WIDTH, accuracy(dense, test))]}
    for method in ("anchor", "lowrank", "hash"):
        curves[method] = []
        for ratio in RATIOS:
            model = deepcopy(dense)
            report = compress_embeddings_(model, ratio, method)
            before = accuracy(model, test)
            train(model, training, updates=5)  # a little more training, for all alike
            curves[method].append((report.values_after, accuracy(model, test)))
            print(f"{method:>8} at 1/{ratio:<2}  accuracy {before:.3f}, trained on {curves[method][-1][1]:.3f}")
    print(f"{'dense':>8}           accuracy {curves['dense'][0][1]:.3f}")
    picture = Path("compress_embeddings.svg")
    picture.write_text(size_curves("accuracy", curves).svg)
    print(f"wrote {picture}")


if __name__ == "__main__":
    main()
