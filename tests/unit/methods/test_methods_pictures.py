"""What single treatments of pictures learn and answer, against references."""

import numpy as np
import pytest
import torch

from nanwise.methods.image.knn_pictures import KNNPictures
from nanwise.methods.image.partial_conv import PartialConv
from nanwise.methods.image.sn_conv import SNConv
from nanwise.nets.image.first import Expected, Filled, with_marks
from nanwise.nn import SNConv2d


def pictures(n=20, channels=2, side=5, share=0.4, seed=0):
    draw = np.random.default_rng(seed)
    x = draw.random((n, channels, side, side), dtype=np.float32)
    x[draw.random(x.shape) < share] = np.nan
    return x


def one_by_one(row, donors, k):
    """The definition, pixel by pixel."""
    common = ~np.isnan(donors) & ~np.isnan(row)
    difference = np.where(common, (donors - row) ** 2, 0).sum(1)
    distance = np.where(common.any(1), difference / np.maximum(common.sum(1), 1), np.inf)
    out = row.copy()
    for pixel in np.flatnonzero(np.isnan(row)):
        able = np.flatnonzero(~np.isnan(donors[:, pixel]))
        nearest = able[np.argsort(distance[able], kind="stable")[:k]]
        out[pixel] = donors[nearest, pixel].mean()
    return out


@pytest.mark.parametrize("k", [1, 3])
def test_knn_is_its_definition(k):
    donors, new = pictures(), pictures(7, seed=1)
    filled = KNNPictures(k=k, near=20).fit(donors).prepare(new)
    flat = donors.reshape(20, -1).astype(np.float64)
    expected = [one_by_one(row, flat, k) for row in new.reshape(7, -1).astype(np.float64)]
    np.testing.assert_allclose(filled.reshape(7, -1), expected, atol=1e-5)


def test_knn_draws_donors_and_falls_back_to_means():
    x = pictures()
    x[:, 0, 0, 0] = np.nan
    x[1:, 0, 0, 1] = np.nan
    x[0, 0, 0, 1] = 0.25
    fitted = KNNPictures(k=1, max_donors=5, near=2, random_state=0).fit(x)
    assert fitted.donors_.shape == (5, 2, 5, 5)
    filled = fitted.prepare(x)
    assert not np.isnan(filled).any()
    np.testing.assert_array_equal(filled[:, 0, 0, 0], 0)
    np.testing.assert_array_equal(filled[:, 0, 0, 1], 0.25)
    with pytest.raises(ValueError, match="k must"):
        KNNPictures(k=0).fit(x)


def test_knn_lends_only_what_can_be_compared():
    x = pictures()
    x[:10, :, 0] = np.nan
    x[10:, :, 1:] = np.nan
    new = np.full((2, 2, 5, 5), np.nan, dtype=np.float32)
    new[1, 0, 0, 0] = 0.5
    filled = KNNPictures(k=1).fit(x).prepare(new)
    means = np.nan_to_num(x).sum(axis=0) / (~np.isnan(x)).sum(axis=0)
    np.testing.assert_allclose(filled[0], means, rtol=1e-5)
    np.testing.assert_allclose(filled[1, :, 1:], means[:, 1:], rtol=1e-5)
    assert not np.allclose(filled[1, :, 0], means[:, 0])


def test_sn_conv_learns_the_mean_count_of_its_windows():
    x = pictures()
    layer = SNConv2d(2, 3, 3, padding=1).fit(torch.from_numpy(x))
    found = SNConv().fit(x).K_
    assert found == pytest.approx(float(layer.norm.known()), rel=1e-6)
    assert SNConv(K=4).fit(x).K_ == 4.0
    assert SNConv().fit(np.full_like(x, np.nan)).K_ == 1.0
    with pytest.raises(ValueError, match="K must"):
        SNConv(K="max").fit(x)


def test_partial_convolutions_fill_a_hole_from_its_border():
    x = torch.full((1, 1, 9, 9), 0.5)
    observed = torch.ones_like(x, dtype=torch.bool)
    observed[..., 2:7, 2:7] = False
    for depth, empty in ((1, 9), (2, 1), (3, 0)):
        layer = PartialConv(depth).fit(None).layer(1, 2)
        with torch.no_grad():
            for conv in layer.convs:
                conv.weight.fill_(0.1)
                conv.bias.fill_(0.1)
            out = layer(x * observed, observed)
        assert int((out[0, 0] == 0).sum()) == empty
    with pytest.raises(ValueError, match="depth"):
        PartialConv(0).fit(None)


def test_marks_are_one_more_channel_without_holes(make_density):
    x = torch.from_numpy(pictures(3))
    observed = ~x.isnan()
    values = x.nan_to_num()
    density = make_density(observed, variance=0.0)
    torch.manual_seed(0)
    expected, filled = Expected(2, 4, marks=True), Filled(2, 4, marks=True)
    filled.conv.load_state_dict(expected.conv.state_dict())
    mean = values.where(observed, density.means[:, 0])
    seen = torch.cat([mean, observed.float().mean(1, keepdim=True)], 1)
    # without variance it is the convolution of the mean, marks beside it
    torch.testing.assert_close(expected(values, observed, density), filled.conv(seen).relu())
    marked, known, wide = with_marks(values, observed, density)
    assert known[:, 2].all()
    assert marked.shape == wide.means[:, 0].shape == wide.noise[:, 0].shape
    with pytest.raises(ValueError, match="density"):
        expected(values, observed)


@pytest.fixture
def make_density():
    from nanwise.completion import MFA

    def make(observed, variance):
        n, shape = len(observed), observed.shape[1:]
        draw = torch.Generator().manual_seed(0)
        return MFA(
            torch.ones(n, 1),
            torch.rand(n, 1, *shape, generator=draw),
            torch.zeros(n, 1, 2, *shape),
            torch.full((n, 1, *shape), variance),
            observed,
        )

    return make
