"""What the page says about the latent space of a count model."""

from __future__ import annotations

import numpy as np

from gossamer.report.blocks import Figure, Fold, KeyNumbers, Table
from gossamer.report.latent import latent_section
from gossamer.report.models import ModelResult, models_report
from gossamer.report.page import Report, render

TOPIC = {
    "direction": "7",
    "strength": 0.81234,
    "raises": ["rocket", "orbit"],
    "lowers": ["goalie"],
    "npmi raised": 0.21,
    "npmi lowered": None,
    "documents that raise": ["document 3 (sci.space)"],
    "documents that lower": [],
}
DIAGNOSIS = {
    "latent_dim": 100,
    "used_directions": 12,
    "singular_values": {"at z = 0": np.array([4.0, 1.5, 0.2]), "mean over the prior": np.array([4.1, 1.4, 0.3])},
    "rare_terms": {
        "kl": np.array([1.0, 3.0, 2.0]),
        "num_rare": np.array([1.0, 9.0, 4.0]),
        "rho": 1.0,
        "rho_length": 0.9,
        "rho_given_length": None,
    },
    "npmi": 0.123,
    "topic_diversity": 0.75,
    "topics": [TOPIC],
}


def test_a_count_model_shows_numbers_figures_and_topics(read_page):
    section = latent_section({"count-vae": DIAGNOSIS, "ease": {}})
    assert section is not None
    tiles, figure, table = section.blocks
    assert isinstance(tiles, KeyNumbers)
    assert tiles.numbers == {
        "directions in use": "12 of 100",
        "NPMI of topics": 0.123,
        "topic diversity": 0.75,
        "rho of KL and rare terms": 1.0,
    }
    assert isinstance(figure, Figure)
    assert [drawing.title for drawing in figure.drawings] == ["Singular values", "KL by number of rare terms"]
    assert isinstance(table, Table)
    page = read_page(render(Report("t", "", [section])))
    assert any("rocket" in text for _, text in page.texts)


def test_values_weighed_by_words_have_a_figure_of_their_own():
    section = latent_section({"count-vae": DIAGNOSIS | {"document_singular_values": np.array([3.0, 0.5])}})
    assert section is not None
    figure = section.blocks[1]
    assert isinstance(figure, Figure)
    assert [drawing.title for drawing in figure.drawings][1] == "Singular values, weighed by words"
    assert "a document of average length, 1 of 2 above 1" in figure.drawings[1].alt


def test_several_models_have_a_fold_each():
    section = latent_section({"refined": DIAGNOSIS, "amortised": DIAGNOSIS})
    assert section is not None
    assert [(type(block), block.title) for block in section.blocks] == [(Fold, "refined"), (Fold, "amortised")]


def test_what_is_missing_is_left_out():
    assert latent_section({"ease": {}}) is None
    assert latent_section({}) is None
    section = latent_section({"svi": {"latent_dim": 2, "used_directions": 0}})
    assert section is not None
    assert section.blocks == [KeyNumbers({"directions in use": "0 of 2"})]


def test_the_report_has_the_section_before_what_it_learned():
    result = ModelResult(diagnosis=DIAGNOSIS, explanation={"topics": [TOPIC]})
    report = models_report(title="t", data=None, split=None, models={"count-vae": result})
    assert [section.title for section in report.sections] == ["How it uses its latent space", "What it learned"]
