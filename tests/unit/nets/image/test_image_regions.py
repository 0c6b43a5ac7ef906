"""What is hidden while a network learns to fill holes."""

import pytest
import torch

from nanwise.nets.image.regions import choose, hold_out


def some(n=200, shape=(2, 8, 6)):
    torch.manual_seed(0)
    return torch.ones(n, *shape, dtype=torch.bool)


def test_squares_have_their_size_and_reach_every_place():
    held = hold_out(some(), "square", 0.5)
    assert held.shape == (200, 2, 8, 6)
    assert (held.sum((1, 2, 3)) == 2 * 4 * 3).all()
    assert (held.any(2).sum(-1) == 3).all()
    assert (held.any(3).sum(-1) == 4).all()
    assert torch.equal(held[:, 0], held[:, 1])
    assert held.any(0).all()
    assert not held.all(0).any()


@pytest.mark.parametrize("size", [0.01, 0.99])
def test_a_square_is_never_nothing(size):
    assert hold_out(some(3), "square", size).any((1, 2, 3)).all()


def test_pixels_are_hidden_one_by_one_in_all_channels():
    held = hold_out(some(500), "pixels", 0.3)
    assert torch.equal(held[:, 0], held[:, 1])
    assert held.float().mean().item() == pytest.approx(0.3, abs=0.02)


def test_holes_of_other_pictures_are_copied():
    observed = some(3)
    observed[0, :, 2:4, 1:4] = False
    held = hold_out(observed, "others", 0.5)
    assert torch.equal(held[1], ~observed[0])
    # the first and the last picture follow one without a hole
    assert (held[[0, 2]].sum((1, 2, 3)) == 24).all()


def test_a_hole_that_hides_nothing_new_is_replaced_by_a_square():
    """The same hole in every picture would teach nothing at all."""
    observed = some(50)
    observed[:, :, :4] = False
    held = hold_out(observed, "others", 0.5)
    assert (held.sum((1, 2, 3)) == 24).all()
    assert (held & observed).any()


def scattered(share):
    return torch.rand(100, 1, 12, 12) >= share


def strokes():
    observed = some(100, (1, 12, 12))
    observed[:, :, 3:6] = False
    observed[:, :, :, 8:11] = False
    return observed


@pytest.mark.parametrize(
    ("observed", "sort"),
    [
        (scattered(0.1), "pixels"),
        (scattered(0.75), "pixels"),
        (~hold_out(some(100, (1, 12, 12)), "square", 0.5), "square"),
        (strokes(), "square"),
        (some(5), "square"),
        (some(5, (1, 1, 1)), "square"),
    ],
)
def test_what_is_hidden_is_like_the_holes(observed, sort):
    assert choose("auto", None, observed) == (sort, {"square": 0.5, "pixels": 0.25}[sort])
    assert choose("auto", 0.3, observed) == (sort, 0.3)
    assert choose("others", None, observed) == ("others", 0.5)
