import torch

from gossamer.models.counts.climbing import dot
from gossamer.models.counts.conjugate import ConjugateDirection


def test_on_a_quadratic_as_many_steps_as_dimensions_reach_the_top():
    generator = torch.Generator().manual_seed(0)
    root = torch.randn(2, 4, 4, generator=generator, dtype=torch.float64)
    curvature = root @ root.mT + torch.eye(4)
    pull, scale = torch.randn(2, 4, generator=generator).double(), torch.tensor([1.0, 0.5, 2.0, 0.1]).double()
    last, x = None, torch.zeros(2, 4, dtype=torch.float64)
    for _ in range(4):
        gradient = pull - torch.einsum("bij,bj->bi", curvature, x)
        last = ConjugateDirection.after(last, gradient, gradient * scale)
        bend = dot(last.direction, torch.einsum("bij,bj->bi", curvature, last.direction))
        x = x + dot(gradient, last.direction) / bend * last.direction
    torch.testing.assert_close(x, torch.linalg.solve(curvature, pull))


def test_a_direction_never_descends():
    generator = torch.Generator().manual_seed(0)
    last = None
    for _ in range(20):
        gradient = torch.randn(50, 3, generator=generator)
        last = ConjugateDirection.after(last, gradient, gradient * 0.5)
        assert bool((dot(gradient, last.direction) > 0).all())


def test_rows_go_on_alone_as_they_would_together():
    first, second = torch.randn(2, 3, 2, generator=torch.Generator().manual_seed(0))
    keep = torch.tensor([True, False, True])
    together = ConjugateDirection.after(ConjugateDirection.after(None, first, first), second, second)
    alone = ConjugateDirection.after(
        ConjugateDirection.after(None, first, first).take(keep), second[keep], second[keep]
    )
    assert torch.equal(together.direction[keep], alone.direction)


def test_a_zero_gradient_gives_a_zero_direction():
    nothing = torch.zeros(1, 3)
    last = ConjugateDirection.after(ConjugateDirection.after(None, nothing, nothing), nothing, nothing)
    assert last.direction.tolist() == [[0, 0, 0]]
