"""SentenceVAE: sentences as vectors where most dimensions are really off, with a dial for how many."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import torch
from torch import nn

from gossamer.core.checks import check_choice, check_int, check_real
from gossamer.core.randomness import numpy_generator
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.data.sentences import Sentences
from gossamer.data.share import Share
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.spikeslab.analysis import words_of_dimensions
from gossamer.models.spikeslab.codes import Codes, GaussianCodes
from gossamer.models.spikeslab.dial import SparsityDial, choose_spike_scale, reachable_hoyer
from gossamer.models.spikeslab.hierarchical import DECISIVENESS, DIVERGENCES, GATES, HierarchicalCodes
from gossamer.models.spikeslab.module import SOFTMAXES, GRUEncoder, SentenceNetwork, WordVectors, feature_dim_of
from gossamer.models.spikeslab.objective import Weights
from gossamer.models.spikeslab.pretrained import MINILM, PretrainedEncoder
from gossamer.models.spikeslab.rivals import MatCodes, SparseCodingCodes
from gossamer.models.spikeslab.sentence_model import SentenceModel, hoyer_of_set
from gossamer.models.spikeslab.sentences import check_training, count_truncated
from gossamer.models.spikeslab.training import Schedule, Training, make_batches, train_network
from gossamer.models.stored_network import seeded_weights
from gossamer.persistence.parts import is_part

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

PRIORS = ("spike_slab", "gaussian", "mat", "vsc")
NORMS = ("none", "l1", "l2")
PRETRAINED = (MINILM,)
NUM_EXPLAINED = 2000  # sentences that say what dimensions mean
TOLERANCE = 0.05

logger = logging.getLogger(__name__)


class SentenceVAE(SentenceModel):
    """A variational autoencoder of sentences, GRU to GRU, whose codes are sparse to the degree that is asked for.

    `prior` is "spike_slab" (HSVAE, Prokhorov et al. 2021: a Beta distribution of γ, the probability that a dimension is
    off), "gaussian" (the plain VAE; `norm` "l1" or "l2" of its posterior's parameters, times `norm_weight`), "mat"
    (MAT-VAE: a Gaussian posterior, a spike-and-slab prior with P(off) = `off_prob`, an MMD), or "vsc" (variational
    sparse coding: `num_pseudo_inputs`, P(off) = `off_prob`, spike warm-up over the first share `warm_up` of updates).

    `sparsity` is the dial of "spike_slab": the Average Hoyer that drawn codes shall have, for which alpha is found
    while training, beginning at `alpha` (`alpha_` and `beta_` are what it came to). Without it the prior of γ is
    Beta(`alpha`, `beta`): the larger alpha / beta, the sparser. `gates` are "balanced": a dimension is on where its
    value would be far from 0, each dimension for a like share of sentences and each sentence with a like number of
    dimensions, the fewer left to chance the larger `decisiveness`; or "free", the paper's, which tend to switch by
    chance. `divergence` is how KL(z|γ) is computed: "joint"
    in closed form, "mixture" by Monte-Carlo; `spike_scale` and `temperature` are of the spike and the binary concrete.
    `spike_scale` None is the paper's 0.05, or thinner where the `sparsity` needs it (`spike_scale_` is what it became).

    `psi` weighs KL(z), `lam` KL(γ), the MMD or the pseudo-inputs' term; below 1 they keep the code from being ignored.
    `num_gates` and `num_samples` are N and M of equation (2). Of a sentence `max_length` words are read. `softmax` is
    "full", or "adaptive" for large vocabularies. `refine_steps` gradient steps improve each sentence's features when a
    fitted model encodes. With validation data and `patience`, the epoch of the lowest validation loss is kept.
    `pretrained` "minilm" reads sentences by a fixed transformer, all-MiniLM-L6-v2, in place of a GRU that is trained
    (extra `[bert]`; its weights come with the package and are no part of the artifact).
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "elbo",
        {
            "latent_dim": Integer(8, 128, log=True),
            "embedding_dim": Integer(64, 256, log=True),
            "hidden_dim": Integer(128, 512, log=True),
            "psi": Real(0.001, 1, log=True),
            "lam": Real(0.001, 1, log=True),
            "learning_rate": Real(0.0002, 0.005, log=True),
        },
        fixed={"patience": 3},
    )

    def __init__(
        self,
        *,
        prior: str = "spike_slab",
        latent_dim: int = 32,
        sparsity: float | None = None,
        alpha: float = 4.0,
        beta: float = 1.0,
        psi: float = 0.01,
        lam: float = 0.01,
        gates: str = "balanced",
        decisiveness: float = DECISIVENESS,
        divergence: str = "joint",
        spike_scale: float | None = None,
        temperature: float = 0.5,
        off_prob: float = 0.8,
        num_pseudo_inputs: int = 8,
        warm_up: float = 0.1,
        norm: str = "none",
        norm_weight: float = 0.01,
        num_gates: int = 1,
        num_samples: int = 1,
        embedding_dim: int = 256,
        hidden_dim: int = 512,
        max_length: int = 60,
        softmax: str = "full",
        pretrained: str | None = None,
        refine_steps: int = 0,
        learning_rate: float = 8e-4,
        batch_size: int = 256,
        epochs: int = 15,
        patience: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.prior = prior
        self.latent_dim = latent_dim
        self.sparsity = sparsity
        self.alpha = alpha
        self.beta = beta
        self.psi = psi
        self.lam = lam
        self.gates = gates
        self.decisiveness = decisiveness
        self.divergence = divergence
        self.spike_scale = spike_scale
        self.temperature = temperature
        self.off_prob = off_prob
        self.num_pseudo_inputs = num_pseudo_inputs
        self.warm_up = warm_up
        self.norm = norm
        self.norm_weight = norm_weight
        self.num_gates = num_gates
        self.num_samples = num_samples
        self.embedding_dim = embedding_dim
        self.hidden_dim = hidden_dim
        self.max_length = max_length
        self.softmax = softmax
        self.pretrained = pretrained
        self.refine_steps = refine_steps
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.random_state = random_state

    def fit(
        self,
        data: Sentences | Share[Sentences],
        validation: Sentences | Share[Sentences] | None = None,
        *,
        table: nn.Module | None = None,
        encoder: nn.Module | None = None,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Train on sentences; a run that finds its `checkpoint` goes on from there.

        `table` maps numbers of words to vectors of `embedding_dim` in place of a dense table, with dense gradients
        (an `AnchorEmbedding` with `sparse=False`, or any rival of it); `encoder` is a module with a `feature_dim` that
        gives one vector per sentence (`SentenceEncoder`), `PretrainedEncoder` for one, in place of the GRU. They are
        trained in place. A compressed table of gossamer's own is saved as it is; with another table, or an encoder, a
        model cannot be saved, unless the table is written out (`write_out_table`).

        Shares have the same words on every process; what dimensions mean is told by the sentences of each process.
        """
        from gossamer.training.devices import process_count
        from gossamer.training.sharing import rows_of

        self._check_arguments()
        held, sharing = rows_of(data)
        sentences = check_training(held)
        self.words_ = sentences.vocabulary
        sharing.check_same("words", self.words_)
        count_truncated(sentences, self.max_length)
        batches = make_batches(sentences, self.max_length, self.batch_size, self.random_state, sharing)
        num_updates = self.epochs * batches.count(process_count())
        self.network_ = self._make_network(self.words_, num_updates, table, encoder)
        self.has_own_encoder_ = encoder is None
        self.is_own_ = encoder is None and (table is None or is_part(table))
        self._count_words(sentences, sharing)
        schedule = Schedule(
            self.learning_rate, self.batch_size, self.epochs, self.patience, self.num_gates, self.num_samples
        )
        dial = None if self.sparsity is None else self._make_dial(self.sparsity, num_updates)
        training = Training(self.network_, self._weights(), schedule, dial)
        watched, watching = rows_of(validation)
        has_rows = watched is not None and (len(watched) > 0 or not watching.is_divided)
        if watched is not None and has_rows and (self.patience is not None or dial is not None):
            watched = self._known(watched, "validation").sentences  # once: what is not known in them is said once, too
        judged = watched if self.patience is not None else None
        history = train_network(
            training,
            batches,
            random_state=self.random_state,
            validate=None if judged is None else lambda: watching.measure(self._validation_loss, judged, len(judged)),
            checkpoint=checkpoint,
            log=log,
        )
        self.history_ = history.as_dict()
        own_words = np.minimum(sentences.lengths, self.max_length).sum(keepdims=True) + len(sentences)
        num_words = int(sharing.sum(own_words)[0])
        self.tokens_per_second_ = num_words * len(history.epochs) / max(history.seconds, 1e-9)
        self._describe_dimensions(sentences)
        if dial is not None:
            self._compare_with_dial(float(dial.measured()), watched if has_rows else None)
        return self

    @property
    def alpha_(self) -> float:
        """The alpha of γ's prior that training ended with."""
        return self._prior_parameter("log_alpha")

    @property
    def beta_(self) -> float:
        """The beta of γ's prior."""
        return self._prior_parameter("log_beta")

    @property
    def spike_scale_(self) -> float:
        """The scale of spikes that codes are drawn with."""
        scale = getattr(self.network_.codes, "spike_scale", None)
        if scale is None:
            raise AttributeError(f"prior must be 'spike_slab' or 'mat' for spikes with a scale, got {self.prior!r}")
        return float(scale)

    def _chosen_spike_scale(self) -> float:
        return choose_spike_scale(self.sparsity, self.latent_dim) if self.spike_scale is None else self.spike_scale

    def _prior_parameter(self, name: str) -> float:
        codes = self.network_.codes
        if not isinstance(codes, HierarchicalCodes):
            raise AttributeError(f"prior must be 'spike_slab' for a Beta distribution of γ, got {self.prior!r}")
        return float(getattr(codes, name).exp())

    def _make_dial(self, sparsity: float, num_updates: int) -> SparsityDial:
        share, scale = self.beta / (self.alpha + self.beta), self.spike_scale_
        reachable = reachable_hoyer(self.latent_dim, scale)
        if reachable < sparsity:
            logger.warning(
                "sparsity %.2f is above the Average Hoyer of about %.2f that %d dimensions with slabs N(0, 1) reach "
                "with spike_scale = %.3g; take a smaller spike_scale, more dimensions, or a lower sparsity",
                sparsity,
                reachable,
                self.latent_dim,
                scale,
            )
        return SparsityDial(sparsity, self.latent_dim, num_updates, spike_scale=scale, share=share)

    def _weights(self) -> Weights:
        return Weights(self.psi, self.lam, self.norm_weight if self.norm != "none" else 0.0)

    def _make_network(
        self,
        words: Vocabulary,
        num_updates: int = 1,
        table: nn.Module | None = None,
        encoder: nn.Module | None = None,
    ) -> SentenceNetwork:
        num_words = len(words)
        with seeded_weights(self.random_state):
            table = nn.Embedding(num_words, self.embedding_dim) if table is None else table
            encoder = self._make_encoder(words) if encoder is None else encoder
            return SentenceNetwork(
                WordVectors(table, num_words, self.embedding_dim),
                encoder,
                self._make_codes(feature_dim_of(encoder), num_updates),
                hidden_dim=self.hidden_dim,
                word_counts=torch.ones(num_words + 1),
                softmax=self.softmax,
            )

    def _make_encoder(self, words: Vocabulary) -> nn.Module:
        if self.pretrained is not None:
            return PretrainedEncoder.minilm(words)
        return GRUEncoder(self.embedding_dim, self.hidden_dim)

    @torch.no_grad()
    def write_out_table(self) -> None:
        """Put plain rows in the place of a `table` of the caller's, so that the model can be saved; a copy, not small.

        An encoder of the caller's stays one, and a model that has one is still not saved.
        """
        vectors = self.network_.vectors
        rows = vectors.table(torch.arange(vectors.num_words)).clone()
        vectors.table = nn.Embedding(vectors.num_words, rows.shape[1], _weight=rows)
        self.is_own_ = self.has_own_encoder_

    def _make_codes(self, feature_dim: int, num_updates: int) -> Codes:
        if self.prior == "gaussian":
            return GaussianCodes(feature_dim, self.latent_dim, norm=self.norm)
        spike_scale = self._chosen_spike_scale()
        if self.prior == "mat":
            return MatCodes(feature_dim, self.latent_dim, off_prob=self.off_prob, spike_scale=spike_scale)
        if self.prior == "vsc":
            return SparseCodingCodes(
                feature_dim,
                self.latent_dim,
                off_prob=self.off_prob,
                num_pseudo_inputs=self.num_pseudo_inputs,
                warm_up=round(self.warm_up * num_updates),
            )
        return HierarchicalCodes(
            feature_dim,
            self.latent_dim,
            alpha=self.alpha,
            beta=self.beta,
            spike_scale=spike_scale,
            temperature=self.temperature,
            divergence=self.divergence,
            gates=self.gates,
            decisiveness=self.decisiveness,
        )

    def _count_words(self, data: Sentences, sharing: Sharing) -> None:
        counts = sharing.sum(np.append(np.bincount(data.tokens, minlength=len(data.vocabulary)), len(data)))
        self.network_.word_counts.copy_(torch.from_numpy(counts))
        self.network_.rank_again()

    def _validation_loss(self, validation: Sentences) -> dict[str, float]:
        encoded = self._encode(validation, with_likelihood=True)
        weights = self._weights()
        loss = (
            encoded.reconstruction + weights.psi * encoded.kl_z + weights.lam * (encoded.kl_gamma + encoded.divergence)
        )
        loss += weights.penalty * encoded.penalty
        cost = encoded.reconstruction + encoded.kl_z + encoded.kl_gamma  # what models of any psi and lam share
        return {"valid_loss": float(loss.mean(dtype=np.float64)), "valid_elbo": -float(cost.mean(dtype=np.float64))}

    def _describe_dimensions(self, data: Sentences) -> None:
        shown = data[np.unique(np.linspace(0, len(data) - 1, NUM_EXPLAINED).astype(np.int64))]
        encoded = self._encode(shown)
        self.dimensions_ = words_of_dimensions(encoded.slab_mean, ~encoded.is_on, shown)

    def _compare_with_dial(self, running: float, validation: Sentences | None) -> None:
        """Warn where codes are not as sparse as asked for: those of validation data, or the last ones of training."""
        assert self.sparsity is not None
        reached, where = running, "the last batches"
        if validation is not None:
            reached = hoyer_of_set(self._encode(validation).sample)
            where = "validation data"
        if abs(reached - self.sparsity) > TOLERANCE:
            logger.warning(
                "sparsity %.2f was asked for and %.2f reached on %s, with alpha = %.3g; train longer, or "
                "lower psi or spike_scale",
                self.sparsity,
                reached,
                where,
                self.alpha_,
            )

    def _check_arguments(self) -> None:
        check_choice("prior", self.prior, PRIORS)
        check_int("latent_dim", self.latent_dim, at_least=2)
        if self.sparsity is not None:
            check_real("sparsity", self.sparsity, above=0, below=1)
            if self.prior != "spike_slab":
                raise ValueError(f"prior must be 'spike_slab' for a sparsity to be set, got {self.prior!r}")
            if self.patience is not None:
                raise ValueError(
                    f"patience must be None with a sparsity, got {self.patience!r}; codes reach it only in the end"
                )
        for name in ("alpha", "beta", "temperature", "learning_rate", "decisiveness"):
            check_real(name, getattr(self, name), above=0)
        if self.spike_scale is not None:
            check_real("spike_scale", self.spike_scale, above=0)
        for name in ("psi", "lam", "norm_weight"):
            check_real(name, getattr(self, name), at_least=0)
        check_choice("gates", self.gates, GATES)
        check_choice("divergence", self.divergence, DIVERGENCES)
        check_real("off_prob", self.off_prob, above=0, below=1)
        check_real("warm_up", self.warm_up, at_least=0, at_most=1)
        check_choice("norm", self.norm, NORMS)
        check_choice("softmax", self.softmax, SOFTMAXES)
        if self.pretrained is not None:
            check_choice("pretrained", self.pretrained, PRETRAINED)
        check_int("refine_steps", self.refine_steps, at_least=0)
        for name in ("num_pseudo_inputs", "num_gates", "num_samples", "embedding_dim", "hidden_dim"):
            check_int(name, getattr(self, name), at_least=1)
        for name in ("max_length", "batch_size", "epochs"):
            check_int(name, getattr(self, name), at_least=1)
        if self.patience is not None:
            check_int("patience", self.patience, at_least=1)
        numpy_generator(self.random_state)
