"""MisConv2d is the mean of convolution and ReLU over draws of the hole."""

import pytest
import torch

from nanwise.completion import MFA
from nanwise.nn import MisConv2d

DRAWS = 200_000


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])  # by torch; in compiled code
@pytest.mark.parametrize("k", [1, 3])
def test_expected_activation_equals_monte_carlo(k, dtype):
    generator = torch.Generator().manual_seed(k)

    def normal(*size):
        return torch.randn(*size, generator=generator, dtype=torch.float64)

    shape = (2, 5, 5)
    x = normal(1, *shape)
    x[:, :, 1:4, 2:] = float("nan")
    density = MFA(
        normal(1, k).softmax(-1),
        0.3 * normal(1, k, *shape),
        0.15 * normal(1, k, 2, *shape),
        (0.15 * normal(1, k, *shape)).square(),
        ~x.isnan(),
    )
    torch.manual_seed(0)
    layer = MisConv2d(2, 3, 3, stride=2, padding=1).double()
    with torch.no_grad():
        numbers = MFA(*(part.to(dtype) for part in density[:4]), density.observed)
        got = layer.to(dtype)(x.to(dtype), numbers)[0].double()
        layer.double()
        plain = torch.nn.Conv2d(2, 3, 3, stride=2, padding=1).double()
        plain.load_state_dict(layer.state_dict())
        draws = draw(density.pin(x), generator)
        activations = plain(draws).relu()
    # Half of the windows touch the hole and vary; the rest equal exactly.
    deviation = activations.std(0)
    assert (deviation > 0.02).double().mean() > 0.3
    torch.testing.assert_close(activations.mean(0), got, rtol=0, atol=1e-3)


def draw(density, generator):
    """Draws of one picture, all at once: a component, its factors, then noise."""
    component = torch.multinomial(density.weights[0], DRAWS, True, generator=generator)
    pixels = torch.empty(DRAWS, *density.shape, dtype=torch.float64)
    for number in range(density.weights.shape[1]):
        n = int((component == number).sum())
        factors, noise = density.factors[0, number], density.noise[0, number]
        scores = torch.randn(n, len(factors), generator=generator, dtype=torch.float64)
        own = torch.randn(n, *density.shape, generator=generator, dtype=torch.float64)
        mean = density.means[0, number] + torch.einsum("nl,lchw->nchw", scores, factors)
        pixels[component == number] = mean + noise.sqrt() * own
    return pixels
