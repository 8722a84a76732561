"""What NeuralEM is told, checked: arguments, and the features of series."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from gossamer.core.checks import check_bool, check_choice, check_int, check_real
from gossamer.models.markov.inputs import Batch
from gossamer.models.markov.neural.methods import METHODS, unrolled_for
from gossamer.models.markov.neural.network import FINALS, GRADIENTS, Unrolled
from gossamer.models.markov.together import largest

if TYPE_CHECKING:
    from gossamer.models.markov.neural.neural_em import NeuralEM
    from gossamer.training.sharing import Sharing

LOSSES = ("hidden", "all")
EMISSIONS_WITH_GRADIENT = ("gaussian", "categorical", "multinomial", "poisson")


def check_arguments(model: NeuralEM) -> None:
    """Refuse bad arguments, each by its name."""
    check_int("num_states", model.num_states, at_least=2)
    check_choice("emission", model.emission, EMISSIONS_WITH_GRADIENT)
    check_choice("method", model.method, METHODS)
    check_int("num_layers", model.num_layers, at_least=1)
    check_choice("gradient", model.gradient, GRADIENTS)
    check_choice("final", model.final, FINALS)
    has_last_word = model.method == "initial-fusion" or (model.method == "neural-em" and model.final == "em")
    if model.gradient == "stopped" and has_last_word:
        raise ValueError(
            "gradient must be 'exact' or 'spsa' where EM has the last word (final='em', method='initial-fusion'), got "
            "'stopped', which lets nothing through to the network"
        )
    check_choice("loss", model.loss, LOSSES)
    check_bool("is_mixed", model.is_mixed)
    check_int("regression_rounds", model.regression_rounds, at_least=0)
    check_int("perturbations", model.perturbations, at_least=1)
    check_real("c", model.c, above=0)
    check_real("hidden_share", model.hidden_share, at_least=0, below=1)
    check_int("hidden_dim", model.hidden_dim, at_least=1)
    check_int("latent_dim", model.latent_dim, at_least=1)
    check_real("dropout", model.dropout, at_least=0, below=1)
    if model.max_duration is not None:
        check_int("max_duration", model.max_duration, at_least=2)
    for name in ("num_starts", "start_epochs", "em_iterations", "epochs", "batch_size"):
        check_int(name, getattr(model, name), at_least=1)
    for name in ("tolerance", "pseudo_count", "variance_weight", "weight_decay"):
        check_real(name, getattr(model, name), at_least=0)
    check_real("variance_floor", model.variance_floor, above=0, below=1)
    check_real("learning_rate", model.learning_rate, above=0)
    if model.patience is not None:
        check_int("patience", model.patience, at_least=1)


def unrolled_of(model: NeuralEM) -> Unrolled:
    """Return the layers that a model asks for."""
    asked = Unrolled(
        model.num_layers,
        model.gradient,
        model.final,
        model.is_mixed,
        is_between=True,
        perturbations=model.perturbations,
        c=model.c,
    )
    return unrolled_for(model.method, asked)


def feature_dim_of(batch: Batch, sharing: Sharing) -> int:
    """Return how many features series have, on all processes alike."""
    own = 0 if batch.features is None else int(batch.features.shape[1])
    most = largest(own, sharing)
    if own != most:
        raise ValueError(f"features must be as many on every process, got {own} here and {most} elsewhere")
    return own


def features_of(batch: Batch, feature_dim: int) -> Float64[np.ndarray, "B F+1"]:
    """Return the features of every series, as many as those of the fit, and a one: having none is no special case."""
    num_series = len(batch.offsets) - 1
    features = np.zeros((num_series, 0)) if batch.features is None else batch.features.astype(np.float64)
    if features.shape[1] != feature_dim:
        raise ValueError(
            f"data must have {feature_dim} features per series, as those of the fit have, got {features.shape[1]}; "
            "give them to Sequences(..., features=…) or to read_sequences"
        )
    return np.concatenate([features, np.ones((num_series, 1))], axis=1)
