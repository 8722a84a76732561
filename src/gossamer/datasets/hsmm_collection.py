"""A made-up collection of hidden semi-Markov models with features, as in section 4.7.1 of the DENNL chapter.

Every series has a model of its own: ten states, five-dimensional normal observations, 1 + Poisson durations. The means
of states lie around prototypes that all models share, and deviate from them, partly along a few common directions.
The features of a model are ReLU(A x + b) of its parameters x: strongly related to them, too few to recover them from.
All of it is a function of the seed; a series' name says which model of which seed it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from jaxtyping import Float64, Int64

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import derive_seed
from gossamer.data.sequences import Sequences
from gossamer.data.vocabulary import Vocabulary
from gossamer.datasets.dataset import Dataset, DatasetInfo

NUM_STATES, NUM_DIMENSIONS, NUM_FEATURES = 10, 5, 64
PROTOTYPE_SD, DEVIATION_SD, LOW_RANK_SHARE, RANK = 1.2, 0.9, 0.4, 4
NOISE_SD, MEAN_RATE = 0.7, 4.0
NAME = re.compile(r"hsmm-(\d+)-(\d+)")
Truth = dict[str, np.ndarray]


def load_hsmm_collection(
    *,
    part: str = "train",
    length: int = 50,
    noise: float = 0.0,
    num_train: int = 300,
    num_valid: int = 60,
    num_test: int = 150,
    seed: int = 0,
) -> Sequences:
    """Return the series of a part, one of `length` steps for each of its models, with features and true states.

    `noise` is the share of steps whose observation is replaced by that of another step of the series.
    """
    sizes = {"train": num_train, "valid": num_valid, "test": num_test}
    check_choice("part", part, sizes)
    check_int("length", length, at_least=2)
    check_real("noise", noise, at_least=0, below=1)
    check_int("seed", seed, at_least=0)
    for name, size in zip(("num_train", "num_valid", "num_test"), sizes.values(), strict=True):
        check_int(name, size, at_least=1)
    first = {"train": 0, "valid": num_train, "test": num_train + num_valid}[part]
    names = [f"hsmm-{seed}-{number}" for number in range(first, first + sizes[part])]
    drawn = [_draw_series(_truth_of(name), name, length, noise) for name in names]
    return Sequences(
        np.concatenate([values for values, _ in drawn]),
        np.arange(len(names) + 1) * length,
        features=_features([_truth_of(name) for name in names], seed),
        states=np.concatenate([states for _, states in drawn]),
        names=Vocabulary(names),
    )


def true_parameters(names: Iterable[str | int]) -> Truth:
    """Return the parameters of the models that series of these names were drawn from, by the names of `HSMM`."""
    found = [_truth_of(str(name)) for name in names]
    return {key: np.stack([truth[key] for truth in found]) for key in found[0]}


def _truth_of(name: str) -> Truth:
    match = NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"series must be those of the data set 'hsmm-collection', got one called {name!r}")
    seed, number = map(int, match.groups())
    shared = np.random.default_rng(derive_seed(seed, "prototypes"))
    size = (NUM_STATES, NUM_DIMENSIONS)
    prototypes = PROTOTYPE_SD * shared.standard_normal(size)
    directions = shared.standard_normal((RANK, *size)) / np.sqrt(RANK)
    common_rates, common_moves = shared.standard_normal(NUM_STATES), shared.standard_normal((NUM_STATES, NUM_STATES))
    own = np.random.default_rng(derive_seed(seed, "model", number))
    together = np.tensordot(own.standard_normal(RANK), directions, axes=1)
    apart = own.standard_normal(size)
    deviation = np.sqrt(LOW_RANK_SHARE) * together + np.sqrt(1 - LOW_RANK_SHARE) * apart
    moves = common_moves + 0.5 * own.standard_normal((NUM_STATES, NUM_STATES))
    np.fill_diagonal(moves, -np.inf)
    return {
        "initial": _softmax(0.5 * own.standard_normal(NUM_STATES)),
        "transition": _softmax(moves),
        "duration.rates": MEAN_RATE * np.exp(0.3 * common_rates + 0.2 * own.standard_normal(NUM_STATES)),
        "emission.means": prototypes + DEVIATION_SD * deviation,
        "emission.variances": np.square(NOISE_SD) * np.exp(0.3 * own.standard_normal(size)),
    }


def _features(truths: list[Truth], seed: int) -> Float64[np.ndarray, "B F"]:
    serial = np.stack([_serialised(truth) for truth in truths])
    generator = np.random.default_rng(derive_seed(seed, "features"))
    matrix = generator.standard_normal((serial.shape[1], NUM_FEATURES)) / np.sqrt(serial.shape[1])
    features: np.ndarray = np.maximum(0.0, serial @ matrix + 0.2 * generator.standard_normal(NUM_FEATURES))
    return features


def _serialised(truth: Truth) -> Float64[np.ndarray, " M"]:
    off_diagonal = ~np.eye(NUM_STATES, dtype=bool)
    moves = truth["transition"][off_diagonal]
    parts = [truth["initial"], moves, truth["duration.rates"], truth["emission.means"], truth["emission.variances"]]
    return np.concatenate([part.ravel() for part in parts])


def _draw_series(truth: Truth, name: str, length: int, noise: float) -> tuple[np.ndarray, Int64[np.ndarray, " T"]]:
    generator = np.random.default_rng(derive_seed(name, "series", length))
    states: list[int] = []
    state = int(generator.choice(NUM_STATES, p=truth["initial"]))
    while len(states) < length:
        states += [state] * (1 + int(generator.poisson(truth["duration.rates"][state])))
        state = int(generator.choice(NUM_STATES, p=truth["transition"][state]))
    path = np.array(states[:length])
    drawn = generator.standard_normal((length, NUM_DIMENSIONS))
    values = truth["emission.means"][path] + np.sqrt(truth["emission.variances"][path]) * drawn
    is_noise = generator.random(length) < noise
    others = (np.arange(length) + generator.integers(1, length, size=length)) % length
    return np.where(is_noise[:, None], values[others], values), path


def _softmax(logits: np.ndarray) -> np.ndarray:
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    probs: np.ndarray = raised / raised.sum(axis=-1, keepdims=True)
    return probs


DATASETS = {
    "hsmm-collection": Dataset(
        DatasetInfo(
            title="Made-up hidden semi-Markov models with features, one short series of each",
            kind="Sequences",
            size="300 + 60 + 150 series of 50 steps, 10 states, 5 dimensions, 64 features",
            licence="made up, no rights",
            homepage="https://github.com/gossamer",
            citation="Section 4.7.1 of the DENNL chapter (Li, dissertation), with a design of our own",
        ),
        load_hsmm_collection,
        None,
        ("train", "valid", "test"),
    )
}
