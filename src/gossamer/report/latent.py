"""How a count model uses its latent space: directions in use, where its encoder errs, what its topics are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gossamer.report.blocks import Block, Figure, Fold, KeyNumbers, Section, Table
from gossamer.report.latent_figures import rare_term_cloud, singular_value_curves

_LEAD = (
    "A direction is in use when the words of an average document say more about it than the prior does: its singular "
    "value, weighed by words, is above 1. Where the encoder's posterior is far from the refined one, amortised "
    "inference fails."
)


def latent_section(diagnoses: Mapping[str, Mapping[str, Any]]) -> Section | None:
    """Show each model's `diagnose()`; None where no model has one.

    `diagnoses[model]` may have latent_dim, used_directions, singular_values (name → values), document_singular_values,
    rare_terms (kl, num_rare and their rank correlations), npmi, topic_diversity and topics (rows of a table); what is
    missing is left out.
    """
    known = {model: found for model, found in diagnoses.items() if found}
    if not known:
        return None
    blocks: list[Block] = []
    for model, found in known.items():
        inner = _blocks(found)
        blocks += inner if len(known) == 1 else [Fold(model, inner, is_open=True)]
    return Section("How it uses its latent space", blocks, _LEAD)


def _blocks(found: Mapping[str, Any]) -> list[Block]:
    rare = found.get("rare_terms") or {}
    tiles = {
        "directions in use": _of(found.get("used_directions"), found.get("latent_dim")),
        "NPMI of topics": found.get("npmi"),
        "topic diversity": found.get("topic_diversity"),
        "rho of KL and rare terms": rare.get("rho"),
        "rho at equal length": rare.get("rho_given_length"),
    }
    blocks: list[Block] = [KeyNumbers({name: value for name, value in tiles.items() if value is not None})]
    drawings, caption = [], []
    if found.get("singular_values"):
        drawings.append(singular_value_curves(found["singular_values"]))
        caption.append(
            "How much the log-probabilities of all terms change along each latent direction; with many terms these "
            "values are above 1, the paper's line, before any training."
        )
    if found.get("document_singular_values") is not None:
        weighed = {"a document of average length": found["document_singular_values"]}
        drawings.append(singular_value_curves(weighed, title="Singular values, weighed by words"))
        caption.append("Weighed, a term counts as often as an average document has it, and more terms change nothing.")
    if rare:
        drawings.append(rare_term_cloud(rare["num_rare"], rare["kl"], rare.get("rho")))
        caption.append(
            "How far refinement moves each document's posterior; a rare term is in fewer than 5 % of the training "
            "documents. Long documents have more of both, so the second rho holds length fixed."
        )
    if drawings:
        blocks.append(Figure(drawings, " ".join(caption)))
    if found.get("topics"):
        note = (
            "Directions are turned so that each changes few terms much (varimax); what it raises is its topic, what it "
            "lowers the other end. Strength is the standard deviation of the change in log-probability over words; "
            "NPMI is 1 for terms that only come together."
        )
        blocks.append(Table(found["topics"], "The strongest directions, and documents far out on them", note=note))
    return blocks


def _of(part: int | None, whole: int | None) -> str | int | None:
    return part if part is None or whole is None else f"{part:,} of {whole:,}"
