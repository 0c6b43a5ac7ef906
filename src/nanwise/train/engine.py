"""From a device name, and from the processes that were started, to Lightning Fabric."""

from __future__ import annotations

import atexit
import os
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from lightning_fabric.plugins.environments import ClusterEnvironment


def make_fabric(device: str | torch.device | None = None) -> Fabric:
    """A launched Fabric for this process.

    Parameters
    ----------
    device : {None, "cpu", "cuda", "cuda:<n>", "auto"}
        None is the CPU: a table is small, and the answer is then the same on every machine.
        ``auto`` takes a GPU if there is one.

    Notes
    -----
    If ``torch.distributed`` is initialised already, or the environment says that this is one of
    ``WORLD_SIZE`` processes (``torchrun`` sets it), the processes train together: one device each,
    gradients averaged. On a GPU each takes the device of its local rank. Processes that met here
    part again when Python ends; a group that was there before belongs to whoever made it.
    """
    from lightning_fabric import Fabric

    kind, index = read_device(device)
    world = world_size()
    if world == 1:
        devices: Any = [index] if kind == "cuda" else 1
        fabric = Fabric(accelerator=kind, devices=devices)
    else:
        from lightning_fabric.strategies import DDPStrategy

        local = int(os.environ.get("LOCAL_WORLD_SIZE", world))
        strategy = DDPStrategy(cluster_environment=_environment(world, local))
        fabric = Fabric(
            accelerator=kind, devices=local, num_nodes=world // local, strategy=strategy
        )
    met = world > 1 and not torch.distributed.is_initialized()
    fabric.launch()
    if met:
        atexit.register(_part)
    return fabric


def read_device(device: str | torch.device | None) -> tuple[str, int]:
    """Kind and number of a device, or a ValueError that says which there are."""
    if device is None:
        return "cpu", 0
    if str(device) == "auto":
        return ("cuda" if torch.cuda.is_available() else "cpu"), 0
    try:
        asked = torch.device(device)
    except RuntimeError:
        asked = None
    if asked is None or asked.type not in ("cpu", "cuda"):
        raise ValueError(
            f"device must be None, 'cpu', 'cuda', 'cuda:<number>' or 'auto', got {device!r}"
        )
    if asked.type == "cuda" and (asked.index or 0) >= torch.cuda.device_count():
        raise ValueError(
            f"device is {device!r}, but this machine has {torch.cuda.device_count()} CUDA devices; "
            "use 'auto' to take a GPU only where there is one"
        )
    return asked.type, asked.index or 0


def world_size() -> int:
    """Number of processes that train together."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_world_size()
    return int(os.environ.get("WORLD_SIZE", 1))


def _part() -> None:
    """Join the threads of the group while Python is there: one that outlives it aborts."""
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _rank() -> int:
    if torch.distributed.is_initialized():
        return torch.distributed.get_rank()
    if "RANK" not in os.environ:
        raise ValueError(
            f"WORLD_SIZE={os.environ['WORLD_SIZE']} says that several processes train together, "
            "but RANK is not set; start them with torchrun, or unset WORLD_SIZE"
        )
    return int(os.environ["RANK"])


def _environment(world: int, local: int) -> ClusterEnvironment:
    """Processes that somebody else started, numbered as torch.distributed numbers them.

    Fabric's own environments read the number from variables that only certain launchers set, and
    would number processes that met through ``init_process_group`` wrongly.
    """
    from lightning_fabric.plugins.environments import LightningEnvironment

    rank = _rank()

    class Started(LightningEnvironment):
        creates_processes_externally = True

        def local_rank(self) -> int:
            return int(os.environ.get("LOCAL_RANK", rank % local))

        def node_rank(self) -> int:
            return rank // local

        def global_rank(self) -> int:
            return rank

        def set_global_rank(self, rank: int) -> None:
            """The number is given; nothing to set."""

        def world_size(self) -> int:
            return world

        def teardown(self) -> None:
            """The variables belong to whoever set them."""

    return Started()
