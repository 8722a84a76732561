"""Every estimator keeps the contracts of gossamer.testing.contracts: a new model adds one Case."""

from __future__ import annotations

import pytest

from gossamer.models import catalogue
from gossamer.models.community import CommunityRecommender, LightGCN
from gossamer.models.counts import CDAE, CountRecommender, CountVAE, MultVAE, Unigram
from gossamer.models.discrete import (
    GumbelVAE,
    LinearLabelClassifier,
    MLkNN,
    SparseCountRegressor,
    SparseDiscreteVAE,
    SparseLabelClassifier,
)
from gossamer.models.embeddings import (
    AnchorLanguageModel,
    AnchorRecommender,
    AnchorTextClassifier,
    NonparametricRecommender,
)
from gossamer.models.linear import ALS, EASE, SLIM, BiasedMF, ItemKNN, Popularity
from gossamer.models.lowrank import CompressedClassifier, CompressedLanguageModel
from gossamer.models.markov import HMM, HSMM, NeuralEM
from gossamer.models.spikeslab import SentenceProbe, SentenceVAE
from gossamer.serving.export.onnx_file import draw_graph
from gossamer.testing.contracts import Case, Check, checks_for, two_blocks, two_themes, two_topics
from gossamer.testing.export_parity import assert_parity
from gossamer.testing.right_answers import burning_candles, lit_lamps, two_patterns, two_phases

SMALL_CLASSIFIER = {"embedding_dim": 8, "num_filters": 8, "epochs": 15, "batch_size": 12, "learning_rate": 0.02}
SMALL_LANGUAGE_MODEL = {
    "embedding_dim": 8,
    "hidden_dim": 8,
    "num_layers": 1,
    "batch_size": 4,
    "epochs": 2,
    "num_samples": 5,
    "dropout": 0.1,
}
SMALL_RATINGS = {"embedding_dim": 3, "user_anchors": 4, "item_anchors": 3, "batch_size": 32}
SMALL_PROXIMAL = {"lambda2": 1e-4, "embedding_dim": 2, "epochs": 30, "batch_size": 32}
SMALL_NETWORK = {"epochs": 40, "batch_size": 8, "learning_rate": 0.02}
SMALL_COUNTS = {"latent_dim": 3, "encoder_dims": [8], "average_decay": 0.8, **SMALL_NETWORK}
SMALL_VAE = {"latent_dim": 2, "encoder_dims": [8], "epochs": 30, "batch_size": 11, "learning_rate": 0.02}
SMALL_DISCRETE = {
    "num_features": 6,
    "encoder_dims": [8],
    "decoder_dims": [8],
    "epochs": 20,
    "batch_size": 8,
    "learning_rate": 0.03,
}
SMALL_LABELS = {
    "hidden_dims": [8],
    "num_folds": 2,
    "num_repeats": 1,
    "epochs": 60,
    "weight_decay": 0.1,
    "dropout": 0.0,
    "input_dropout": 0.0,
    "max_active": 2,
}
SMALL_NEURAL = {"hidden_dim": 4, "latent_dim": 2, "num_starts": 2, "start_epochs": 10, "epochs": 2, "batch_size": 4}
SMALL_SENTENCES = {
    "latent_dim": 4,
    "embedding_dim": 6,
    "hidden_dim": 8,
    "epochs": 2,
    "batch_size": 18,
    "max_length": 8,
}
LOOSE_CODES = {"prior": "gaussian", "psi": 0.0, "epochs": 60, "learning_rate": 0.05, "hidden_dim": 12, "batch_size": 36}
SMALL_PROBE = {"learning_rate": 0.03, "batch_size": 18, "hidden_dims": [8]}
SMALL_COMMUNITIES = {
    "embedding_dim": 8,
    "num_communities": 2,
    "item_edges": 3,
    "epochs": 25,
    "batch_size": 12,
    "learning_rate": 0.03,
}
SMALL_SEARCH = {"hidden_dims": [16], "iterations": 3, "polish": 1, "search_rows": 16, "batch_size": 16, "epochs": 10}
SMALL_COMPRESSED_LANGUAGE = SMALL_LANGUAGE_MODEL | {"num_steps": 6, "search_rows": 4, "calibration_batches": 2}
CASES = [
    Case(Popularity(), is_personal=False),
    Case(ItemKNN(num_neighbours=5, weighting="bm25", shrinkage=0.5)),
    Case(EASE(regularization=1.0)),
    Case(SLIM(l1=0.1, l2=1.0)),
    Case(ALS(num_factors=3, epochs=5, patience=2)),
    Case(ALS(num_factors=3, epochs=5, solver="cholesky", weighted=True)),
    Case(BiasedMF(num_factors=2, epochs=5)),
    Case(CountRecommender(decoder_dims=[6], **SMALL_COUNTS)),
    Case(CountRecommender(decoder_dims=[], inference="refined", scoring="refined", inputs="norm", **SMALL_COUNTS)),
    Case(MultVAE(latent_dim=3, hidden_dims=[8], annealing_epochs=5, patience=3, **SMALL_NETWORK)),
    Case(CDAE(hidden_dim=8, **SMALL_NETWORK)),
    Case(Unigram(smoothing=0.5), two_themes, is_personal=False, strange=two_blocks),
    Case(CountVAE(decoder_dims=[], **SMALL_VAE), two_themes, strange=two_blocks),
    Case(
        CountVAE(decoder_dims=[6], inference="amortised", annealing_epochs=2, inputs="norm", **SMALL_VAE),
        two_themes,
        strange=two_blocks,
    ),
    Case(CountVAE(decoder_dims=[], inference="svi", patience=5, **SMALL_VAE), two_themes, strange=two_blocks),
    Case(SparseDiscreteVAE(max_active=2, gate_dims=[], **SMALL_DISCRETE), two_patterns, strange=two_blocks),
    Case(
        SparseDiscreteVAE(
            codes="shared",
            max_active=3,
            gate_dims=[4],
            gradient="relaxed",
            temperature_schedule="learned",
            temperature_floor=0.5,
            **SMALL_DISCRETE,
        ),
        two_patterns,
        strange=two_blocks,
    ),
    Case(
        GumbelVAE(num_options=2, gradient="gumbel-straight-through", **SMALL_DISCRETE | {"epochs": 40}),
        two_patterns,
        strange=two_blocks,
    ),
    Case(AnchorRecommender(charge=0.1, epochs=5, **SMALL_RATINGS)),
    Case(AnchorRecommender(biases=True, epochs=25, solver="proximal", learning_rate=0.1, **SMALL_RATINGS)),
    Case(NonparametricRecommender(lambda2=1e-4, initial_anchors=4, change=-1, embedding_dim=2, epochs=5)),
    Case(NonparametricRecommender(solver="proximal", initial_anchors=2, max_anchors=4, change=1, **SMALL_PROXIMAL)),
    Case(AnchorTextClassifier(num_anchors=4, ratio=2.0, **SMALL_CLASSIFIER), two_topics),
    Case(AnchorTextClassifier(method="sparse-hash", ratio=1.5, patience=3, **SMALL_CLASSIFIER), two_topics),
    Case(AnchorLanguageModel(num_anchors=4, ratio=None, l1=1e-4, **SMALL_LANGUAGE_MODEL), two_topics),
    Case(AnchorLanguageModel(method="lowrank", ratio=2.0, network="awd-lstm", **SMALL_LANGUAGE_MODEL), two_topics),
    Case(SparseLabelClassifier(temperature=1.0, **SMALL_LABELS), lit_lamps, strange=two_blocks),
    Case(
        SparseLabelClassifier(
            variant="conditional", num_latent=2, temperature=[1.0, 2.0], threshold="cv-per-label", **SMALL_LABELS
        ),
        lit_lamps,
        strange=two_blocks,
    ),
    Case(LinearLabelClassifier(loss="sparsemax", penalty=0.01), lit_lamps, strange=two_blocks),
    Case(LinearLabelClassifier(threshold=0.5, penalty=0.01), lit_lamps, strange=two_blocks),
    Case(MLkNN(num_neighbours=1), lit_lamps, strange=two_blocks),
    Case(
        SparseCountRegressor(hidden_dims=[16], channels=[2], epochs=100, batch_size=12, learning_rate=0.02),
        burning_candles,
        strange=two_blocks,
    ),
    Case(CompressedClassifier(params=0.7, macs=0.7, **SMALL_SEARCH), two_patterns, strange=two_blocks),
    Case(
        CompressedClassifier(bytes=0.8, allocator="pos_cvx", fine_tune_epochs=1, **SMALL_SEARCH),
        two_patterns,
        strange=two_blocks,
    ),
    Case(
        CompressedLanguageModel(params=0.8, macs=0.9, iterations=2, polish=1, **SMALL_COMPRESSED_LANGUAGE), two_topics
    ),
    Case(
        CompressedLanguageModel(
            bytes=0.9, allocator="pos_cvx", tied=False, only=["layers.*"], **SMALL_COMPRESSED_LANGUAGE
        ),
        two_topics,
    ),
    Case(HMM(num_states=2, epochs=20), two_phases, strange=two_blocks),
    Case(HSMM(num_states=2, epochs=20, patience=3), two_phases, strange=two_blocks),
    Case(HSMM(num_states=2, duration="table", max_duration=8, epochs=20), two_phases, strange=two_blocks),
    Case(NeuralEM(num_states=2, gradient="exact", **SMALL_NEURAL), two_phases, strange=two_blocks),
    Case(NeuralEM(num_states=2, method="em", em_iterations=5, **SMALL_NEURAL), two_phases, strange=two_blocks),
    Case(SentenceVAE(**SMALL_SENTENCES), two_topics),
    Case(SentenceVAE(prior="vsc", softmax="adaptive", refine_steps=1, patience=1, **SMALL_SENTENCES), two_topics),
    Case(SentenceProbe(vae=SMALL_SENTENCES | LOOSE_CODES, epochs=60, **SMALL_PROBE | {"batch_size": 36}), two_topics),
    Case(CommunityRecommender(**SMALL_COMMUNITIES)),
    Case(LightGCN(embedding_dim=4, epochs=15, batch_size=12, learning_rate=0.05)),
    Case(CommunityRecommender(method="graphsage", loss="logistic", hidden_dim=4, **SMALL_COMMUNITIES)),
    Case(SentenceProbe(vae=SMALL_SENTENCES, end_to_end=True, epochs=15, **SMALL_PROBE), two_topics),
]


# What has no graph, by the sentence that says why.
NOT_EXPORTED = {
    CountVAE: "inference must be one with an encoder to be exported, got 'svi'",
    NeuralEM: "method must be another to be exported, got 'em': it ends when no series of the data gets better",
}


@pytest.mark.parametrize(
    ("case", "check"),
    [
        pytest.param(case, check, id=f"{number}-{type(case.estimator).__name__}-{check.__name__}")
        for number, case in enumerate(CASES)
        for check in checks_for(case)
    ],
)
def test_contract(case: Case, check: Check):
    check(case)


@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{type(case.estimator).__name__}" for n, case in enumerate(CASES)])
def test_exported_graph_answers_as_the_model(case: Case):
    pytest.importorskip("onnxruntime")
    held_out, model = case.held_out(), case.fitted()
    try:
        draw_graph(model)
    except ValueError as error:
        reason = str(error)
    else:
        assert_parity(model, getattr(held_out, "history", held_out))
        return
    assert reason.startswith(NOT_EXPORTED[type(model)])


def test_every_model_of_the_catalogue_has_a_case():
    assert {type(case.estimator) for case in CASES} == set(catalogue.available().values())
