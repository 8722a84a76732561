"""The NFA paper's figures 2, 3 and 5 on 20 Newsgroups: what underfits, for which documents, and when to refine.

    python benchmarks/plot_count_diagnostics.py docs/images docs/families/counts.md
    python benchmarks/plot_count_diagnostics.py --small            # a trial of seconds that keeps nothing

The decoder with two hidden layers is trained in five ways, all with the same documents, seed and number of epochs, of
which the best on validation documents is kept. Each training leaves a file in results/nfa-diagnostics/, and is not
repeated where that exists; figures and text are made from the files alone. About half an hour on one core.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from pages import in_lines, write_between

from gossamer import datasets
from gossamer.core.atomic import replacing_file
from gossamer.data import Parts
from gossamer.data.splits import split_given
from gossamer.models.counts import CountVAE
from gossamer.models.counts.diagnostics import compare_schedules
from gossamer.report.blocks import Drawing
from gossamer.report.latent_figures import Curve, epoch_curves, rare_term_cloud, singular_value_curves
from gossamer.report.svg import write_svg
from gossamer.runner.machine import code_hash, commit, machine, versions

RESULTS = Path(__file__).parent.parent / "results" / "nfa-diagnostics"
PAGE_MARK = "nfa-diagnostics"
EPOCHS = 30
SETTINGS: dict[str, Any] = {
    "latent_dim": 100,
    "decoder_dims": [400, 400],
    "encoder_dims": [400, 400],
    "inputs": "tfidf",
    "batch_size": 500,
    "learning_rate": 8e-4,
    "random_state": 0,
}
TRAININGS: dict[str, dict[str, Any]] = {
    "amortised": {"inference": "amortised"},
    "annealed": {"inference": "amortised", "annealing_epochs": EPOCHS // 3},
    "refined early": {"inference": "refined-then-amortised"},
    "refined late": {"inference": "amortised-then-refined"},
    "refined": {"inference": "refined"},
}
PERPLEXITY, USED = "perplexity_document_refined", "used_directions"
Found = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description="diagnostics of count models on 20 Newsgroups")
    parser.add_argument("folder", nargs="?", type=Path, help="where the figures go")
    parser.add_argument("page", nargs="?", type=Path, help="a page with the mark of the text")
    parser.add_argument("--small", action="store_true", help="few documents, two epochs; nothing is kept")
    arguments = parser.parse_args()
    parts = documents(max_documents=300 if arguments.small else None)
    if arguments.small:
        found = {name: train(name, parts, epochs=2) for name in TRAININGS}
        print(tell(found), *(drawing.alt for drawing in drawings(found).values()), sep="\n\n")
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    found = {name: kept(name) or keep(name, train(name, parts, epochs=EPOCHS)) for name in TRAININGS}
    text = tell(found)
    for name, drawing in drawings(found).items():
        text += f"\n\n![{drawing.alt}](../images/{name}.svg)"
        if arguments.folder:
            write_svg(drawing.svg, arguments.folder / f"{name}.svg")
    print(text)
    if arguments.page:
        write_between(arguments.page, PAGE_MARK, text)


def documents(max_documents: int | None) -> Parts:
    """Return training documents and those for validation, as nfa-20news has them; nothing looks at the test part."""
    train, test = (datasets.load("20news", part=part)[:max_documents] for part in ("train", "test"))
    return split_given(Parts(train, None, test), 0.0445, random_state=0)


def train(name: str, parts: Parts, epochs: int) -> Found:
    """Train in one of the ways and return curves over epochs, singular values, and how far refinement moves whom."""
    began = time.perf_counter()
    model = CountVAE(**SETTINGS, **TRAININGS[name], epochs=epochs).fit(parts.train, validation=parts.valid)
    seconds = time.perf_counter() - began
    diagnosis = model.diagnose(parts.valid, parts.train)
    history: Any = model.history_
    return {
        "training": name,
        "settings": {**SETTINGS, **TRAININGS[name], "epochs": epochs},
        "seed": SETTINGS["random_state"],
        "data": {"name": "20news", "fingerprint": parts.fingerprint(), "split": dict(parts.description)},
        "epochs": [{key: epoch[key] for key in (PERPLEXITY, USED)} for epoch in history["epochs"]],
        "singular_values_at_zero": list(map(float, diagnosis["singular_values"]["at z = 0"])),
        "document_singular_values": list(map(float, diagnosis["document_singular_values"])),
        "rare_terms": {
            key: value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in diagnosis["rare_terms"].items()
        },
        "seconds": seconds,
        "commit": commit()[0],
        "dirty": commit()[1],
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": versions(),
        "code": code_hash("counts"),
    }


def path_of(name: str) -> Path:
    return RESULTS / f"{name.replace(' ', '-')}.json"


def kept(name: str) -> Found | None:
    """Return what an earlier run with the same code and settings has found."""
    if not path_of(name).is_file():
        return None
    found: Found = json.loads(path_of(name).read_text(encoding="utf-8"))
    same = found["settings"] == {**SETTINGS, **TRAININGS[name], "epochs": EPOCHS} and found["code"] == code_hash(
        "counts"
    )
    return found if same else None


def keep(name: str, found: Found) -> Found:
    with replacing_file(path_of(name)) as temporary:
        temporary.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{name}: done")
    return found


def drawings(found: Mapping[str, Found]) -> dict[str, Drawing]:
    """Return the figures by the names of their files."""
    rare = found["amortised"]["rare_terms"]
    values = {name: np.array(one["document_singular_values"]) for name, one in found.items()}
    cloud = rare_term_cloud(np.array(rare["num_rare"]), np.array(rare["kl"]), rare["rho"])
    return {
        "nfa-singular-values": singular_value_curves(values, title="Singular values, weighed by words"),
        "nfa-rare-terms": cloud,
        "nfa-utilisation": epoch_curves("Directions in use", curves(found, USED)),
        "nfa-schedules": epoch_curves("Validation perplexity, refined", curves(found, PERPLEXITY)),
    }


def curves(found: Mapping[str, Found], measure: str) -> dict[str, Curve]:
    return {
        name: Curve(range(1, len(one["epochs"]) + 1), [epoch[measure] for epoch in one["epochs"]])
        for name, one in found.items()
    }


def tell(found: Mapping[str, Found]) -> str:
    """Say in a table and a paragraph what the figures show, whichever way it comes out."""
    lines = [
        "| training | perplexity, ψ* | directions in use | rho of KL and rare terms | at equal length | seconds |",
        "| :-- | --: | --: | --: | --: | --: |",
    ]
    for name, one in found.items():
        best, rare = min(one["epochs"], key=lambda epoch: float(epoch[PERPLEXITY])), one["rare_terms"]
        rhos = ["" if rare[key] is None else f"{rare[key]:.2f}" for key in ("rho", "rho_given_length")]
        cells = [name, f"{best[PERPLEXITY]:.1f}", f"{best[USED]:.0f}", *rhos, f"{one['seconds']:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    early, late = (numbered(found[f"refined {when}"]) for when in ("early", "late"))
    comparison = compare_schedules(early, late, measure=PERPLEXITY)
    overtakes = (
        "never catches up with refining early"
        if comparison.catches_up is None
        else f"is no worse than refining early from epoch {comparison.catches_up} on"
    )
    one = next(iter(found.values()))
    mark = "+" if one["dirty"] else ""
    said = in_lines(
        f"20 Newsgroups, decoder with two hidden layers, {len(one['epochs'])} epochs, validation documents; refining "
        f"changes over at half of the epochs, and refining late {overtakes} (commit "
        f"{(one['commit'] or 'unknown')[:10]}{mark}; `python benchmarks/plot_count_diagnostics.py`)."
    )
    return "\n".join(lines) + f"\n\n{said}"


def numbered(found: Found) -> list[dict[str, float]]:
    return [{"epoch": number, **epoch} for number, epoch in enumerate(found["epochs"])]


if __name__ == "__main__":
    main()
