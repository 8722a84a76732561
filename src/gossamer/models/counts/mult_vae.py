"""Mult-VAE: the variational autoencoder with a multinomial likelihood that made VAEs good at recommending."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.core.checks import check_int, check_real
from gossamer.core.search_space import Choice, Integer, Real, SearchSpace
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.share import Share
from gossamer.models.counts.batch import CountBatch
from gossamer.models.counts.module import Decoder, Encoder
from gossamer.models.counts.network import CountNetwork, check_widths, seeded_weights
from gossamer.models.counts.network_ranker import NetworkRanker
from gossamer.models.counts.sparse_layer import ROW_SPARSE_FROM
from gossamer.models.counts.step import CountStep


class MultVAE(NetworkRanker):
    """Reads a history of unit length through dropout, ranks by the decoder at the posterior mean (Liang et al. 2018).

    Encoder and decoder mirror each other: `hidden_dims` of [600] around `latent_dim` 200 is the paper's network, with
    tanh and Glorot's first weights. The KL counts `beta` at the end, to which it rises linearly over
    `annealing_epochs`; Liang et al. choose both on validation data. With validation data, the epoch with the best
    NDCG@100 is kept and training stops after `patience` epochs without a better one. Inference is amortised only:
    `CountRecommender` is the same likelihood with refined inference.

    Reference: Liang, Krishnan, Hoffman, Jebara, "Variational autoencoders for collaborative filtering", 2018.
    """

    network_: CountNetwork

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "ndcg@100",
        {
            "latent_dim": Integer(32, 400, log=True),
            "hidden_dims": Choice(([200], [400], [600])),
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
        hidden_dims: Sequence[int] = (600,),
        inputs: str = "l2",
        dropout: float = 0.5,
        beta: float = 0.2,
        annealing_epochs: int = 50,
        learning_rate: float = 1e-3,
        batch_size: int = 500,
        epochs: int = 200,
        patience: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.latent_dim = latent_dim
        self.hidden_dims = hidden_dims
        self.inputs = inputs
        self.dropout = dropout
        self.beta = beta
        self.annealing_epochs = annealing_epochs
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
        """Climb the bound as the weight of its KL rises; a run that finds its `checkpoint` goes on from there."""
        self._check_arguments()
        _, batches = self._read_training(data)
        self.network_ = self._make_network(len(self.items_))
        step = CountStep(
            self.network_,
            inference="amortised",
            learning_rate=self.learning_rate,
            beta=self.beta,
            annealing_updates=self.annealing_epochs * batches.count(1),
            random_state=self.random_state,
        )
        self._train(step, batches, validation, checkpoint, log)
        return self

    def _check_arguments(self) -> None:
        check_int("latent_dim", self.latent_dim, at_least=1)
        check_widths("hidden_dims", self.hidden_dims, at_least=1)
        check_real("dropout", self.dropout, at_least=0, below=1)
        check_real("beta", self.beta, above=0)
        check_int("annealing_epochs", self.annealing_epochs, at_least=0)
        self._check_training()

    def _make_network(self, num_items: int) -> CountNetwork:
        widths = check_widths("hidden_dims", self.hidden_dims)
        with seeded_weights(self.random_state):
            encoder = Encoder(
                num_items,
                self.latent_dim,
                widths,
                activation="tanh",
                dropout=self.dropout,
                init_range=None,
                sparse_gradient=num_items >= ROW_SPARSE_FROM,
            )
            decoder = Decoder(num_items, self.latent_dim, widths[::-1], activation="tanh", init_range=None)
        return CountNetwork(encoder, decoder)

    def _output_weights(self) -> Float[Tensor, "M H"]:
        return self.network_.decoder.weight

    def _scores(self, batch: CountBatch) -> Float[Tensor, "B M"]:
        assert self.network_.encoder is not None
        mean = self.network_.encoder(batch).mean
        return torch.log_softmax(self.network_.decoder.logits(mean), dim=1)
