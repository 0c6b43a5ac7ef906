"""One layer in a torch model of your own: the mean output stays put when cells go missing."""

import torch
from torch import nn

from nanwise.nn import SparsityNorm

torch.manual_seed(0)


def with_gaps(x: torch.Tensor, share_observed: float) -> torch.Tensor:
    """Copy of x in which only a share of the cells is observed."""
    return x.masked_fill(torch.rand_like(x) > share_observed, torch.nan)


class ZeroFill(nn.Module):
    """The usual thing to do."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """0 in every gap."""
        return x.nan_to_num(0.0)


rows = 1.0 + 0.5 * torch.randn(4000, 20)
target = rows.mean(dim=1, keepdim=True)
train = with_gaps(rows, 0.8)

for name, first in {"zero": ZeroFill(), "sparsity norm": SparsityNorm("mean").fit(train)}.items():
    model = nn.Sequential(first, nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(100):
        optimizer.zero_grad()
        (model(train) - target).square().mean().backward()
        optimizer.step()
    with torch.no_grad():
        means = [model(with_gaps(rows, share)).mean().item() for share in (0.3, 0.5, 0.7, 0.9)]
    print(f"{name:14s} mean prediction at 30, 50, 70, 90 % observed:", [f"{m:.2f}" for m in means])
