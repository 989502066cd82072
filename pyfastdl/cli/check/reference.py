"""What the files should become: by Pillow, and by torchvision where it is installed."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from PIL import Image

__all__ = ["MEAN", "SIZE", "STD", "Reference", "describe_format"]

# The transform that is compared: RandomResizedCrop(SIZE), RandomHorizontalFlip, Normalize(MEAN, STD), as ImageNet's
# training recipes have it.
SIZE = 224
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


class Reference:
    """The libraries that pyfastdl is compared with. Any thread may call it.

    Attributes:
        name: which they are, with their versions.
    """

    def __init__(self) -> None:
        import PIL

        self.name = f"Pillow {PIL.__version__}"
        self._transform: Callable[[Image.Image, dict[str, Any]], Any] = _by_pillow_and_numpy
        try:
            torchvision = importlib.import_module("torchvision")
            functional = importlib.import_module("torchvision.transforms.functional")
        except Exception:  # not installed, or made for another torch: what it would do is done by Pillow and numpy
            self.name += " (no torchvision: its arithmetic by numpy)"
        else:
            self.name += f", torchvision {torchvision.__version__}"
            self._transform = lambda image, numbers: _by_torchvision(functional, image, numbers)

    def open(self, data: bytes) -> Image.Image:
        """The image, its header read."""
        from PIL import Image

        return Image.open(io.BytesIO(data))

    def transform(self, image: Image.Image, numbers: dict[str, Any]) -> npt.NDArray[np.float32]:
        """float32 (3, SIZE, SIZE), from an RGB image and the numbers of ``Compose.sample``."""
        import numpy as np

        return np.asarray(self._transform(image, numbers), dtype=np.float32)


def _by_torchvision(functional: Any, image: Image.Image, numbers: dict[str, Any]) -> Any:
    box = (numbers["top"], numbers["left"], numbers["height"], numbers["width"])
    image = functional.resized_crop(image, *box, [SIZE, SIZE])  # bilinear, as RandomResizedCrop's default
    if numbers["flip"]:
        image = functional.hflip(image)
    return functional.normalize(functional.to_tensor(image), MEAN, STD).numpy()


def _by_pillow_and_numpy(image: Image.Image, numbers: dict[str, Any]) -> Any:
    """The same by what torchvision is made of: see its functional_pil, to_tensor and normalize."""
    import numpy as np
    from PIL import Image

    top, left = numbers["top"], numbers["left"]
    image = image.crop((left, top, left + numbers["width"], top + numbers["height"]))
    image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR)
    if numbers["flip"]:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    values = np.asarray(image).transpose(2, 0, 1).astype(np.float32) / np.float32(255)
    mean, std = (np.array(constants, np.float32).reshape(3, 1, 1) for constants in (MEAN, STD))
    return (values - mean) / std


_MODES = {"L": "gray", "1": "bilevel", "P": "palette", "CMYK": "CMYK", "I;16": "16-bit gray", "I": "32-bit gray"}


def describe_format(image: Image.Image) -> str:
    """The kind of file that an opened image came from: "JPEG progressive", "PNG palette", "WebP"."""
    words = [image.format or "unknown"]
    if words[0] == "WEBP":
        return "WebP"
    if words[0] in ("JPEG", "MPO"):
        words.append("progressive" if image.info.get("progressive") else "baseline")
    if words[0] == "PNG" and image.info.get("interlace"):
        words.append("interlaced")
    if words[0] in ("JPEG", "MPO", "PNG") and image.mode != "RGB":
        words.append(_MODES.get(image.mode, image.mode))
    return " ".join(words)
