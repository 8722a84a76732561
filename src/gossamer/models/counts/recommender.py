"""CountRecommender: nonlinear factor analysis of histories, whose posteriors may be refined before items are ranked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import torch_generator
from gossamer.core.search_space import Choice, Integer, Real, SearchSpace
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.share import Share
from gossamer.models.counts.averaging import AveragedStep
from gossamer.models.counts.batch import CountBatch
from gossamer.models.counts.diagnostics.diagnosis import diagnose
from gossamer.models.counts.inference import infer
from gossamer.models.counts.inputs import InputFeatures
from gossamer.models.counts.module import ACTIVATIONS, Decoder, Encoder
from gossamer.models.counts.network import CountNetwork, check_widths, seeded_weights
from gossamer.models.counts.network_ranker import NetworkRanker
from gossamer.models.counts.refinement import ADAM_RATE_AFTERWARDS, ADAM_RATE_IN_TRAINING, METHODS, Refinement
from gossamer.models.counts.step import CountStep, refine_bound
from gossamer.models.counts.topics import document_names, topic_tables
from gossamer.models.item_ranker import check_interactions

SCORINGS = ("amortised", "refined", "both")


class CountRecommender(NetworkRanker):
    """Ranks items by the decoder's log-probabilities at the posterior mean of a history (Krishnan et al. 2018, 5.3).

    `scoring` is where that mean comes from: the encoder ("amortised", ψ(x)), refinement from there on the very bound of
    training ("refined", ψ*), or "both", which adds the two log-probabilities. `inference` is what the decoder learns
    from, "amortised" (algorithm 1) or "refined" (algorithm 3) posteriors. Refinement is by `refine_method` "newton" or
    "adam" (the paper's), at most `refine_steps` steps (None: the method's own number), for scores with the KL counting
    `scoring_beta` (None: `beta`). `scoring` and the refinement may be changed by `set_params` after `fit`. Adam's noise
    depends on who else is asked for, and so do its scores, a little; Newton's do not.

    The encoder, with hidden layers `encoder_dims`, reads `inputs` ("tfidf", "norm", "counts" or "l2") times
    `input_scale` through `dropout`; the decoder has hidden layers `decoder_dims`, none for a linear one. The KL counts
    `beta`. Every update shrinks the decoder's matrices by `learning_rate` · `decoder_decay` of themselves. What is kept
    are not the last weights but their running mean, over about 1 / (1 − `average_decay`) updates. First weights are
    uniform in ±`init_range` (None: Glorot's). With validation data, the epoch with the best NDCG@100 is kept and
    training stops after `patience` epochs without a better one.
    """

    network_: CountNetwork

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "ndcg@100",
        {
            "latent_dim": Integer(32, 400, log=True),
            "decoder_dims": Choice(([], [200], [400])),
            "encoder_dims": Choice(([200], [400], [600])),
            "dropout": Real(0.1, 0.8),
            "beta": Real(0.02, 1, log=True),
            "learning_rate": Real(0.0002, 0.005, log=True),
        },
        fixed={"patience": 20},
    )

    def __init__(
        self,
        *,
        latent_dim: int = 200,
        decoder_dims: Sequence[int] = (400,),
        encoder_dims: Sequence[int] = (400,),
        activation: str = "tanh",
        inputs: str = "tfidf",
        input_scale: float = 5.0,
        dropout: float = 0.5,
        inference: str = "amortised",
        scoring: str = "both",
        refine_method: str = "newton",
        refine_steps: int | None = None,
        beta: float = 0.2,
        scoring_beta: float | None = None,
        decoder_decay: float = 0.0,
        average_decay: float = 0.99,
        init_range: float | None = None,
        learning_rate: float = 1e-3,
        batch_size: int = 500,
        epochs: int = 150,
        patience: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.latent_dim = latent_dim
        self.decoder_dims = decoder_dims
        self.encoder_dims = encoder_dims
        self.activation = activation
        self.inputs = inputs
        self.input_scale = input_scale
        self.dropout = dropout
        self.inference = inference
        self.scoring = scoring
        self.refine_method = refine_method
        self.refine_steps = refine_steps
        self.beta = beta
        self.scoring_beta = scoring_beta
        self.decoder_decay = decoder_decay
        self.average_decay = average_decay
        self.init_range = init_range
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.random_state = random_state

    def fit(
        self,
        data: Interactions | Share[Interactions],
        validation: HeldOut | Share[HeldOut] | None = None,
        *,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Climb the bound; a run that finds its `checkpoint` goes on from there."""
        self._check_arguments()
        _, batches = self._read_training(data)
        network = self._make_network(len(self.items_))
        step = AveragedStep(
            CountStep(
                network,
                inference=self.inference,
                refinement=self._refinement(in_training=True),
                learning_rate=self.learning_rate,
                decoder_decay=self.decoder_decay,
                beta=self.beta,
                random_state=self.random_state,
            ),
            network,
            self.average_decay,
        )
        averaged = step.averaged
        assert isinstance(averaged, CountNetwork)
        self.network_ = averaged  # follows in place, so validation sees the present average
        self._train(step, batches, validation, checkpoint, log)
        return self

    def _check_arguments(self) -> None:
        check_int("latent_dim", self.latent_dim, at_least=1)
        check_widths("decoder_dims", self.decoder_dims)
        check_widths("encoder_dims", self.encoder_dims, at_least=1)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_real("input_scale", self.input_scale, above=0)
        check_real("dropout", self.dropout, at_least=0, below=1)
        check_choice("inference", self.inference, ["amortised", "refined"])
        check_choice("scoring", self.scoring, SCORINGS)
        check_choice("refine_method", self.refine_method, METHODS)
        if self.refine_steps is not None:
            check_int("refine_steps", self.refine_steps, at_least=0)
        check_real("beta", self.beta, above=0)
        if self.scoring_beta is not None:
            check_real("scoring_beta", self.scoring_beta, above=0)
        check_real("decoder_decay", self.decoder_decay, at_least=0)
        check_real("average_decay", self.average_decay, at_least=0, below=1)
        if self.init_range is not None:
            check_real("init_range", self.init_range, above=0)
        self._check_training()

    def _input_features(self) -> InputFeatures:
        return InputFeatures(self.inputs, self.input_scale)

    def _make_network(self, num_items: int) -> CountNetwork:
        shared: dict[str, Any] = {"activation": self.activation, "init_range": self.init_range}
        with seeded_weights(self.random_state):
            encoder = Encoder(num_items, self.latent_dim, self.encoder_dims, dropout=self.dropout, **shared)
            decoder = Decoder(num_items, self.latent_dim, self.decoder_dims, **shared)
        return CountNetwork(encoder, decoder)

    def _refinement(self, *, in_training: bool) -> Refinement:
        rate = ADAM_RATE_IN_TRAINING if in_training else ADAM_RATE_AFTERWARDS
        return Refinement(self.refine_method, self.refine_steps, rate)

    def explain(self, n: int = 10) -> dict[str, Any]:
        """Return what the n most popular items speak for, and what the n strongest directions raise and lower."""
        tables = super().explain(n)
        topics = topic_tables(self.network_.decoder, self.items_)
        return tables | {name: rows[:n] for name, rows in topics.items()}

    def diagnose(self, data: HeldOut | Interactions, training: Interactions | None = None) -> dict[str, Any]:
        """Return the diagnostics of the report on histories; which items are rare is counted in `training`."""
        check_is_fitted(self, "items_")
        history = data.history if isinstance(data, HeldOut) else check_interactions("data", data)
        matrix = history.aligned_to(self.items_).matrix()
        known = None if training is None else check_interactions("training", training).aligned_to(self.items_).matrix()
        return diagnose(
            self.network_,
            matrix,
            self.features_.values(matrix),
            self._refinement(in_training=False),
            self.items_,
            training=known,
            beta=self.beta,
            names=document_names(history),
        )

    def _output_weights(self) -> Float[Tensor, "M H"]:
        return self.network_.decoder.weight

    def _scores(self, batch: CountBatch) -> Float[Tensor, "B M"]:
        decoder, generator = self.network_.decoder, torch_generator(0)
        posteriors = [infer(self.network_, batch, None, generator)]
        if self.scoring != "amortised":
            refinement = self._refinement(in_training=False)
            beta = self.beta if self.scoring_beta is None else self.scoring_beta
            posteriors.append(refine_bound(decoder, batch, posteriors[0], refinement, generator, beta))
        if self.scoring == "refined":
            posteriors = posteriors[1:]
        first, *others = (torch.log_softmax(decoder.logits(posterior.mean), dim=1) for posterior in posteriors)
        for log_probs in others:
            first += log_probs
        return first
