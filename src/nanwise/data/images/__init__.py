"""Pictures (N, C, H, W) with holes (NaN): folders and ``.npz``, masks, named sets, writing back."""

from nanwise.data.images.masks import hide_pixels
from nanwise.data.images.read import Pictures, read_images
from nanwise.data.images.sets import load_images
from nanwise.data.images.write import write_filled

__all__ = ["Pictures", "hide_pixels", "load_images", "read_images", "write_filled"]
