"""Figures 4 and 5 of the HSVAE paper on our runs: which dimensions classes shut, and how far apart their words are.

    python benchmarks/plot_class_patterns.py docs/images docs/families/spikeslab.md

The models of two rows of hsvae-classify-yahoo and hsvae-classify-dbpedia are fitted again with seed 0, because records
hold no arrays; what is drawn goes to results/bench/class-patterns.json, and a second call draws from there. About 6
minutes of one core for each corpus. Needs the extra `[bert]`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from measuring import RESULTS
from pages import in_lines, write_between

from gossamer.models.spikeslab.analysis import class_word_kl, kl_gate_correlation, pattern_spread
from gossamer.persistence.strict_json import plain_json
from gossamer.report.code_figures import picture_rows
from gossamer.report.svg import write_svg
from gossamer.runner.estimators import make_estimator
from gossamer.runner.experiment import find_experiment
from gossamer.runner.machine import commit, machine, versions
from gossamer.runner.source import make_split, open_data

NAME = "class-patterns"
CORPORA = {  # 32 dimensions, balanced gates: more dimensions cannot be told apart in a figure
    "Yahoo": ("hsvae-classify-yahoo", "balanced-minilm-62-32"),
    "DBpedia": ("hsvae-classify-dbpedia", "balanced-60-weak-32"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description="heat maps of gates by class, and of the divergence of their words")
    parser.add_argument("folder", type=Path, help="where the figures go")
    parser.add_argument("page", nargs="?", type=Path, help="a page with the mark of the text")
    arguments = parser.parse_args()
    path = RESULTS / f"{NAME}.json"
    if not path.is_file():
        found = {corpus: measure(*of) for corpus, of in CORPORA.items()}
        revision, is_dirty = commit()
        record = {"corpora": found, "commit": revision, "dirty": is_dirty, "machine": machine(), "versions": versions()}
        path.write_text(json.dumps(plain_json("record", record), indent=1) + "\n", encoding="utf-8")
    record = json.loads(path.read_text(encoding="utf-8"))
    for corpus, found in record["corpora"].items():
        draw(found, corpus, arguments.folder)
    if arguments.page:
        write_between(arguments.page, NAME, words(record))


def measure(name: str, row_name: str) -> dict[str, Any]:
    """Fit the row's model and return γ_class and the KL of classes' words on test sentences."""
    experiment = find_experiment(name)
    row = experiment.row(row_name)
    data = open_data(experiment.data.with_options(row.data, 0), experiment.split)
    split = make_split(data, experiment.split, 0)
    probe: Any = make_estimator(row.model, row.settings, seed=0)
    probe.fit(split.train, validation=split.valid)
    test = split.test
    return {
        "row": f"{name} {row_name}",
        "classes": [str(name) for name in test.label_names],
        "patterns": probe.vae_.class_patterns(test).round(4).tolist(),
        "class_word_kl": class_word_kl(test).round(4).tolist(),
        "settings": row.settings,
        "split": split.description,
    }


def draw(found: dict[str, Any], corpus: str, folder: Path) -> None:
    """Write the two heat maps of a corpus."""
    patterns, divergence = np.asarray(found["patterns"]), np.asarray(found["class_word_kl"])
    for kind, values in (("patterns", patterns), ("kl", divergence)):
        drawing = picture_rows(f"{corpus}: {kind}", list(values[:, None, :]), found["classes"], "")
        write_svg(drawing.svg, folder / f"hsvae-{corpus.lower()}-{kind}.svg")


def words(record: dict[str, Any]) -> str:
    """Return figures and what they say, as a page has them."""
    pieces = []
    for corpus, found in record["corpora"].items():
        patterns, divergence = np.asarray(found["patterns"]), np.asarray(found["class_word_kl"])
        between = divergence[~np.eye(len(divergence), dtype=bool)]
        name = corpus.lower()
        pieces += [
            f"![{corpus}: a row for each of {len(patterns)} classes, a column for each of {patterns.shape[1]} "
            f"dimensions, darker where more sentences have it off](../images/hsvae-{name}-patterns.svg)",
            f"![{corpus}: divergence of the words of classes, row from column](../images/hsvae-{name}-kl.svg)",
            in_lines(
                f"{corpus} (row `{found['row'].split()[1]}`): the words of two classes are {between.mean():.3f} nats "
                "apart on average (at most "
                f"{between.max():.3f}); γ_class has a spread of {pattern_spread(patterns):.3f}; over pairs of "
                "classes, the rank correlation of divergence and difference of γ_class is "
                f"{kl_gate_correlation(divergence, patterns):.2f}."
            ),
        ]
    mark = "+" if record["dirty"] else ""
    source = (
        f"(Seed 0, commit {(record['commit'] or 'unknown')[:10]}{mark}; `python benchmarks/plot_class_patterns.py`.)"
    )
    return "\n\n".join([*pieces, source])


if __name__ == "__main__":
    main()
