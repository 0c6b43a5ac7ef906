"""Large arrays outside the heap."""

from __future__ import annotations

import pytest
import torch

from nanwise.nn.sparse import room


@pytest.fixture
def all_large(monkeypatch):
    monkeypatch.setattr(room, "_LARGE", 1)


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("shape", [(7,), (3, 5), (1, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_mapped_array_is_an_ordinary_one(shape, dtype):
    made = room.empty(shape, torch.empty(0, dtype=dtype))
    assert made.shape == shape
    assert made.dtype == dtype
    assert made.is_contiguous()
    assert made._base is None, "a view cannot leave an autograd function and be changed in place"
    made.fill_(2.0)
    kept = made.clone()
    del made
    assert kept.eq(2).all()


@pytest.mark.usefixtures("all_large")
@pytest.mark.parametrize("shape", [(0,), (0, 4)])
def test_nothing_needs_no_mapping(shape):
    assert room.empty(shape, torch.empty(0)).shape == shape


def test_a_gradient_in_a_mapping_is_taken_over_without_a_copy():
    weight = torch.zeros(512, 512, requires_grad=True)
    places = []

    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum() / 2

        @staticmethod
        def backward(ctx, *grads):
            made = room.empty((512, 512), weight).fill_(0.5)
            places.append(made.data_ptr())
            return made

    Half.apply(weight).backward()
    assert weight.grad.data_ptr() == places[0]


@pytest.mark.usefixtures("all_large")
def test_take_selects():
    values = torch.arange(5.0)
    index = torch.tensor([4, 0, 0, 2], dtype=torch.int32)
    assert room.take(values, index).tolist() == [4, 0, 0, 2]
