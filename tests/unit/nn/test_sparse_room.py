"""Memory that goes from one step to the next."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from nanwise.nn.sparse import Pattern, Room, Rows, room, sampled_squared_error, sparse_mm


@pytest.fixture
def all_large(monkeypatch):
    monkeypatch.setattr(room, "_LARGE", 1)


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("shape", [(7,), (3, 5), (1, 1), (0,), (0, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_array_of_the_room_is_an_ordinary_one(shape, dtype):
    made = Room().empty(shape, torch.empty(0, dtype=dtype))
    assert made.shape == shape
    assert made.dtype == dtype
    assert made.is_contiguous()
    assert made._base is None, "a view cannot leave an autograd function and be changed in place"
    assert made.fill_(2.0).eq(2).all(), "also after its room is gone"


@pytest.mark.usefixtures("all_large")
def test_memory_is_given_out_again_once_nobody_holds_it():
    rooms, like = Room(), torch.empty(0)
    first = rooms.empty((4, 3), like)
    place, view = first.data_ptr(), first[1:].t()
    del first
    assert rooms.empty((12,), like).data_ptr() != place, "a view still holds it"
    del view
    assert rooms.empty((5,), like).data_ptr() != place, "another size"
    again = rooms.empty((12,), like)
    others = [rooms.empty((12,), like) for _ in range(3)]
    places = {t.data_ptr() for t in (again, *others)}
    assert place in places
    assert len(places) == 4


@pytest.mark.usefixtures("all_large")
def test_what_a_graph_saves_is_not_given_out():
    rooms = Room()
    x = rooms.empty((3,), torch.empty(0)).fill_(2.0)
    weight = torch.ones(3, requires_grad=True)
    loss = (x * weight).sum()
    del x
    rooms.empty((3,), weight).fill_(7.0)
    loss.backward()
    assert weight.grad.tolist() == [2, 2, 2]


def test_small_arrays_are_left_to_the_heap():
    rooms = Room()
    rooms.empty((3,), torch.empty(0))
    assert not rooms._free


@pytest.mark.usefixtures("all_large")
def test_a_gradient_is_taken_over_without_a_copy():
    weight, rooms, places = torch.zeros(8, 8, requires_grad=True), Room(), []

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum() / 2

        @staticmethod
        def backward(ctx, *grads):
            made = rooms.empty((8, 8), weight).fill_(0.5)
            places.append(made.data_ptr())
            return made

    for _ in range(3):
        weight.grad = None
        Half.apply(weight).backward()
        assert weight.grad.data_ptr() == places[-1]
    assert len(set(places)) == 1


def step(pattern, values, weights):
    """Gradients of one step of an autoencoder."""
    first, second, bias = weights
    sums = sparse_mm(pattern, values, first)
    loss = sampled_squared_error(pattern, values, sums, second, bias, sigmoid=True)
    return torch.autograd.grad(loss, weights)


@pytest.mark.usefixtures("all_large")
def test_steps_in_a_room_are_those_outside(monkeypatch):
    monkeypatch.setattr("nanwise.nn.sparse.products._SLAB", 8)
    monkeypatch.setattr("nanwise.nn.sparse.products._READS", 0)
    matrix = sp.random_array((9, 14), density=0.4, rng=np.random.default_rng(0), format="csr")
    rows = Rows.from_scipy(matrix)
    g = torch.Generator().manual_seed(0)
    shapes = ((14, 5), (14, 5), (14,))
    weights = [torch.randn(*shape, generator=g, requires_grad=True) for shape in shapes]
    outside, inside, rooms = Pattern.of(rows), Pattern.of(rows), Room()
    inside.share(rooms)
    wanted, held = step(outside, rows.values, weights), []
    for _ in range(3):
        got = step(inside, rows.values, weights)
        assert all(one.equal(other) for one, other in zip(got, wanted, strict=True))
        del got
        held.append(sum(len(free) for free in rooms._free.values()))
    assert held[0] == held[1] == held[2] > 0
