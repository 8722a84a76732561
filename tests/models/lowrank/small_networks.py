"""Small networks of every kind, with batches for them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class SmallCNN(nn.Module):
    """Convolutions with groups, stride, dilation, other padding, batch norms, and one of one dimension."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.grouped = nn.Conv2d(8, 12, 3, stride=2, padding=1, groups=2)
        self.circular = nn.Conv2d(12, 12, 3, padding="same", dilation=2, padding_mode="circular")
        self.row = nn.Conv1d(12, 12, 3, padding=1)
        self.head = nn.Linear(12, 5)

    def forward(self, images: Tensor) -> Tensor:
        response = functional.relu(self.norm(self.first(images)))
        response = functional.relu(self.grouped(response))
        response = functional.relu(self.circular(response))
        return self.head(functional.relu(self.row(response.flatten(2))).mean(dim=2))


class SmallLanguageModel(nn.Module):
    """An embedding with a tied output layer around an LSTM and a GRU."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30, 12, padding_idx=0)
        self.lstm = nn.LSTM(12, 12, 2, batch_first=True)
        self.gru = nn.GRU(12, 6, batch_first=True, bidirectional=True)
        self.output = nn.Linear(12, 30)
        self.output.weight = self.words.weight

    def forward(self, tokens: Tensor) -> Tensor:
        hidden, _ = self.lstm(self.words(tokens))
        hidden, _ = self.gru(hidden)
        return self.output(hidden)


def image_batches(count: int = 4, rows: int = 4) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    return [
        (torch.randn(rows, 3, 8, 8, generator=generator), torch.randint(5, (rows,), generator=generator))
        for _ in range(count)
    ]


def token_batches(count: int = 4) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    tokens = [torch.randint(30, (3, 6), generator=generator) for _ in range(count)]
    return [(batch[:, :-1], batch[:, 1:]) for batch in tokens]


def token_loss(logits: Tensor, target: Tensor) -> Tensor:
    return functional.cross_entropy(logits.flatten(0, 1), target.flatten())


def encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
