"""Sentences as sparse vectors: how many dimensions are on is set by a dial, and dimensions can be read.

    python examples/plot_sentence_codes.py          # writes sentence_codes.svg

Sentences of three kinds, made up by a small grammar, become codes of 12 dimensions. The same model is trained with two
settings of the dial. Runs in about half a minute on a CPU.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gossamer.data.sentences import Sentences
from gossamer.data.text import build_sentences
from gossamer.models.spikeslab import SentenceVAE
from gossamer.report.code_figures import code_map

GRAMMAR = {
    "animals": ["the {} {} in the {}", ["cat", "dog", "fox", "owl"], ["sat", "ran", "slept"], ["hall", "wood", "barn"]],
    "orders": ["{} cups of {} {}", ["two", "three", "four"], ["tea", "coffee", "milk"], ["please", "now", "to go"]],
    "weather": ["{} will be {} with {}", ["today", "tomorrow", "monday"], ["cold", "warm", "grey"], ["rain", "sun"]],
}
SETTINGS = {"latent_dim": 12, "embedding_dim": 24, "hidden_dim": 48, "epochs": 12, "batch_size": 16, "max_length": 8}


def make_sentences(count: int = 600) -> Sentences:
    rng = np.random.default_rng(0)
    kinds = [list(GRAMMAR)[number % 3] for number in range(count)]
    texts = [GRAMMAR[kind][0].format(*(rng.choice(choices) for choices in GRAMMAR[kind][1:])) for kind in kinds]
    return build_sentences(texts, labels=kinds)


def main() -> None:
    data = make_sentences()
    for sparsity in (0.4, 0.6):
        model = SentenceVAE(sparsity=sparsity, learning_rate=0.005, **SETTINGS).fit(data)
        measured = model.evaluate(data)
        print(
            f"sparsity {sparsity}: Average Hoyer {measured['average_hoyer_sample']:.2f}, "
            f"{measured['active']:.1f} of 12 dimensions on, {measured['reconstruction']:.1f} nats to rebuild a sentence"
        )
    for row in model.explain(4)["dimensions"]:
        print(f"dimension {row['dimension']:>2}, on in {row['on in']:4.0%}: {row['words']}")
    print("rebuilt:", " ".join(map(str, data.words(0))), "->", " ".join(map(str, model.reconstruct(data[:1]).words(0))))

    picture = Path("sentence_codes.svg")
    picture.write_text(code_map(model.transform(data), data.labels, data.label_names).svg, encoding="utf-8")
    print(f"wrote {picture}")


if __name__ == "__main__":
    main()
