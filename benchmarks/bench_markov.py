"""How long does an EM iteration of a Gaussian HMM take beside hmmlearn and pomegranate, and one of an HSMM beside it?

1,000 series of 200 steps in 4 dimensions, 10 states, diagonal covariances, everybody from the same parameters. The HSMM
has durations up to 60 steps, Poisson. hmmlearn has two recursions: "scaling", and "log", which is its default.
Peers that are not installed are left out.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np
import torch
from measuring import Arrays, run_benchmark

from gossamer.models.markov.chains import Chain, HMMChain, HSMMChain
from gossamer.models.markov.durations import DURATIONS
from gossamer.models.markov.emissions import EMISSIONS, Prior
from gossamer.models.markov.step import EMStep

ITERATIONS, MEAN_DURATION, LONGEST = 5, 10.0, 60
Timed = Callable[[], dict[str, float]]


def gaussian_phases(num_series: int, length: int, num_dims: int, num_states: int) -> Arrays:
    """Return observations of states that last geometrically, and the parameters that everybody starts with."""
    rng = np.random.default_rng(0)
    means = 2.0 * rng.normal(size=(num_states, num_dims))
    states = np.zeros((num_series, length), dtype=np.int64)
    states[:, 0] = rng.integers(num_states, size=num_series)
    for step in range(1, length):
        moves = rng.random(num_series) < 1 / MEAN_DURATION
        states[:, step] = np.where(moves, rng.integers(num_states, size=num_series), states[:, step - 1])
    stay = 1 - 1 / MEAN_DURATION
    transition = np.full((num_states, num_states), (1 - stay) / (num_states - 1))
    np.fill_diagonal(transition, stay)
    return {
        "observations": means[states] + rng.normal(size=(num_series, length, num_dims)),
        "means": means + 0.3 * rng.normal(size=means.shape),
        "variances": np.ones_like(means),
        "transition": transition,
        "initial": np.full(num_states, 1 / num_states),
    }


def ours(chain: Callable[[], Chain], **more: torch.Tensor) -> Callable[[Arrays], Timed]:
    """Return iterations of our own EM."""

    def ready(arrays: Arrays) -> Timed:
        num_series, length, num_dims = arrays["observations"].shape
        values = arrays["observations"].reshape(-1, num_dims)
        emission = EMISSIONS["gaussian"]
        observed = emission.observe(values, num_dims)
        start = {name: torch.from_numpy(arrays[name])[None] for name in ("initial", "transition")}
        start |= {f"emission.{name}": torch.from_numpy(arrays[name])[None] for name in ("means", "variances")}
        num_states = len(arrays["initial"])
        if more:
            moves = start["transition"] * (1 - torch.eye(num_states))
            start["transition"] = moves / moves.sum(-1, keepdim=True)
            start |= {name: value.repeat(1, num_states) for name, value in more.items()}
        offsets = np.arange(num_series + 1) * length
        prior = emission.prior_for(observed, values, Prior(0.0, 0.0, 1e-3))
        step = EMStep(chain(), emission, observed, offsets, [start], prior, num_observed=len(values))
        step(None, 1.0)  # compiles
        return lambda: {"loss": [step(None, 1.0)["loss"] for _ in range(ITERATIONS)][-1]}

    return ready


def hmmlearn(implementation: str) -> Callable[[Arrays], Timed]:
    """Return iterations of hmmlearn's GaussianHMM."""

    def ready(arrays: Arrays) -> Timed:
        from hmmlearn.hmm import GaussianHMM

        num_series, length, num_dims = arrays["observations"].shape
        values = arrays["observations"].reshape(-1, num_dims)
        model = GaussianHMM(
            len(arrays["initial"]),
            "diag",
            n_iter=ITERATIONS,
            tol=-np.inf,
            init_params="",
            covars_prior=0,
            implementation=implementation,
        )
        model.startprob_, model.transmat_ = arrays["initial"], arrays["transition"]
        model.means_, model.covars_ = arrays["means"], arrays["variances"]
        lengths = np.full(num_series, length)

        def run() -> dict[str, float]:
            model.fit(values, lengths)
            return {"loss": -model.monitor_.history[-1] / len(values)}

        return run

    return ready


def pomegranate(arrays: Arrays) -> Timed:
    """Return iterations of pomegranate's DenseHMM, which works in single precision."""
    from pomegranate.distributions import Normal
    from pomegranate.hmm import DenseHMM

    states = [
        Normal(mean.tolist(), variance.tolist(), covariance_type="diag")
        for mean, variance in zip(arrays["means"], arrays["variances"], strict=True)
    ]
    model = DenseHMM(states, edges=arrays["transition"].tolist(), starts=arrays["initial"].tolist())
    values = torch.from_numpy(arrays["observations"]).float()
    model.summarize(values[:2])
    model._reset_cache()

    def run() -> dict[str, float]:
        for _ in range(ITERATIONS):
            loss = -float(torch.as_tensor(model.summarize(values)).sum()) / values[..., 0].numel()
            model.from_summaries()
        return {"loss": loss}

    return run


PEERS: dict[str, tuple[str, Callable[[Arrays], Timed]]] = {
    "hmmlearn, scaling": ("hmmlearn", hmmlearn("scaling")),
    "hmmlearn, log": ("hmmlearn", hmmlearn("log")),
    "pomegranate": ("pomegranate", pomegranate),
}

if __name__ == "__main__":
    rates = torch.full((1, 1), MEAN_DURATION - 1, dtype=torch.double)
    run_benchmark(
        "markov",
        f"{ITERATIONS} EM iterations of a Gaussian HMM",
        {"num_series": 1_000, "length": 200, "num_dims": 4, "num_states": 10},
        {
            "gossamer HMM": ours(HMMChain),
            **{name: run for name, (package, run) in PEERS.items() if importlib.util.find_spec(package)},
            "gossamer HSMM, durations to 60": ours(
                lambda: HSMMChain(DURATIONS["poisson"], LONGEST), **{"duration.rates": rates}
            ),
        },
        small={"num_series": 100},
        make=gaussian_phases,
        load=lambda arrays: arrays,
        packages=tuple(sorted({package for package, _ in PEERS.values() if importlib.util.find_spec(package)})),
    )
