"""A trained network at a third of its size: where the budget goes, and what each allocator makes of it.

A small convolutional network learns to tell planted textures apart; three allocators compress it to the same budget,
and training on by the whole network's answers brings back most of what is missing.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from gossamer import Budget, compress
from gossamer.models.lowrank import SearchSettings, class_distance, fine_tune
from gossamer.report.budget_figure import draw_layer_shares
from gossamer.report.svg import write_svg

BUDGET = Budget(macs=0.35, params=0.35)
generator = torch.Generator().manual_seed(0)
textures = torch.randn(6, 3, 12, 12, generator=generator)


def images(number: int) -> tuple[Tensor, Tensor]:
    """Return noisy textures, shifted in a circle, and which they are."""
    classes = torch.randint(6, (number,), generator=generator)
    shifts = torch.randint(12, (number,), generator=generator)
    shown = [textures[kind].roll(int(shift), dims=2) for kind, shift in zip(classes, shifts, strict=True)]
    return torch.stack(shown) + torch.randn(number, 3, 12, 12, generator=generator), classes


def convolution(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU())


def accuracy(network: nn.Module, inputs: Tensor, targets: Tensor) -> float:
    network.eval()
    with torch.no_grad():
        return float((network(inputs).argmax(dim=1) == targets).float().mean())


if __name__ == "__main__":
    torch.manual_seed(0)
    network = nn.Sequential(
        convolution(3, 16), convolution(16, 24), nn.MaxPool2d(2), convolution(24, 24), nn.Flatten(), nn.Linear(864, 6)
    )
    optimiser = torch.optim.Adam(network.parameters(), lr=0.003)
    for _ in range(50):
        inputs, targets = images(64)
        optimiser.zero_grad()
        functional.cross_entropy(network(inputs), targets).backward()
        optimiser.step()
    network.eval()
    training, test = [images(64) for _ in range(24)], images(500)
    print(f"whole: accuracy {accuracy(network, *test):.3f}")
    for allocator in ("uniform", "pos_cvx", "cobla"):
        small = compress(
            network,
            data=training,
            loss=functional.cross_entropy,
            budget=BUDGET,
            allocator=allocator,
            search=SearchSettings(iterations=10, polish=4),
        )
        report = small.compression_report
        print(f"{allocator}: accuracy {accuracy(small, *test):.3f} at {report.share('macs'):.3f} of the multiply-adds")
    tuned = fine_tune(small, data=training, whole=network, loss=class_distance, steps=100)
    print(f"the last, trained on: accuracy {accuracy(tuned, *test):.3f}")
    print(report)
    target = Path("layers.svg")
    write_svg(draw_layer_shares(report.table()[:-1]).svg, target)
    print(f"wrote {target}")
