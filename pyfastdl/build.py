"""What this installation was built with and runs on: for bug reports."""

from __future__ import annotations

import platform
from typing import Any

__all__ = ["build_info"]


def build_info() -> dict[str, Any]:
    """Versions of pyfastdl, its native libraries and its Python dependencies, the vector instructions in use, and the
    order of the resize passes (see ``pillow_pass_order``: the installed Pillow's).

    Example:
        >>> sorted(build_info())[:2]
        ['codecs', 'compiler']
    """
    import numpy as np
    import PIL
    import torch

    from pyfastdl import __version__, _core
    from pyfastdl._pillow import pass_order

    return {
        "pyfastdl": __version__,
        **_core.build_info(),
        "codecs": _core.codec_versions(),
        "pillow": PIL.__version__,
        "pillow_pass_order": pass_order(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "granted_cpus": _core.granted_cpus(),
    }
