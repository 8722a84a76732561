"""NeuralEM in onnxruntime: every emission, features, missing values, empty series, all ways that EM is a layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from gossamer.data.sequences import Sequences
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.markov import NeuralEM
from gossamer.serving.export.graph import Graph
from gossamer.serving.export.neural_em import pack, unpack
from gossamer.serving.export.onnx_file import draw_graph
from gossamer.testing.export_parity import Session, assert_parity
from gossamer.testing.right_answers import two_phases

pytest.importorskip("onnxruntime")
SMALL = {"num_states": 2, "hidden_dim": 4, "latent_dim": 2, "num_starts": 1, "start_epochs": 3}
SMALL |= {"epochs": 1, "batch_size": 4, "num_layers": 2}


def series_of(emission):
    data = two_phases().train[:4]
    states, rng = data.states, np.random.default_rng(0)
    features = rng.normal(size=(4, 3)).astype(np.float32)
    if emission == "categorical":
        codes = 2 * states + rng.integers(0, 2, len(states))
        return Sequences(codes, data.offsets, vocabulary=Vocabulary("abcd"), features=features)
    if emission == "multinomial":
        return Sequences(rng.random((len(states), 3)) + np.eye(3)[states], data.offsets, features=features)
    if emission == "poisson":
        counts = rng.poisson(1 + 4 * states[:, None], (len(states), 2)).astype(float)
        return Sequences(counts, data.offsets, features=features)
    return replace(data, features=features)


@pytest.mark.parametrize("emission", ["gaussian", "categorical", "multinomial", "poisson"])
def test_emissions_with_features(emission):
    data = series_of(emission)
    model = NeuralEM(emission=emission, **SMALL).fit(data)
    assert_parity(model, data)


@pytest.mark.parametrize(
    "settings",
    [
        {"final": "em", "gradient": "exact"},
        {"is_mixed": False},
        {"method": "initial-fusion", "gradient": "spsa", "perturbations": 1},
        {"method": "mlp-mapping"},
        {"method": "pooled-em"},
        {"num_states": 3, "variance_weight": 0.0, "max_duration": 5},
    ],
    ids=lambda settings: ", ".join(map(str, settings)),
)
def test_ways_to_be_a_layer(settings):
    data = series_of("gaussian")
    assert_parity(NeuralEM(**SMALL | settings).fit(data), data)


def test_missing_values_and_series_without_steps():
    data = series_of("gaussian")
    model = NeuralEM(**SMALL).fit(data)
    observed = np.array(data.observations)
    observed[3, 0] = observed[5] = observed[data.offsets[1] - 1] = np.nan
    assert_parity(model, replace(data, observations=observed))
    found = Session(model)(
        observations=np.full((1, 3, 2), np.nan, np.float32), lengths=np.array([0]), features=data.features[:1]
    )
    assert not found["state_probs"].any()
    assert np.isfinite(found["expected"]).all()


def test_vectors_become_parameters_and_vectors_again():
    model = NeuralEM(**SMALL | {"num_states": 3}).fit(series_of("gaussian"))
    layout = model._problem().layout
    graph = Graph(real=np.float64)
    vectors = graph.input("vectors", np.float64, "batch", layout.size)
    graph.output("again", pack(graph, layout, unpack(graph, layout, vectors)), np.float64, "batch", layout.size)
    import onnxruntime

    session = onnxruntime.InferenceSession(graph.model({}).SerializeToString(), providers=["CPUExecutionProvider"])
    given = np.random.default_rng(0).normal(size=(4, layout.size))
    (again,) = session.run(None, {"vectors": given})
    expected = layout.pack(layout.unpack(torch.from_numpy(given)))
    np.testing.assert_allclose(again, expected.numpy(), atol=1e-12)


def test_searches_are_refused():
    model = NeuralEM(**SMALL | {"method": "em", "em_iterations": 2}).fit(series_of("gaussian"))
    with pytest.raises(ValueError, match="method must be another to be exported, got 'em': it ends when no series"):
        draw_graph(model)
