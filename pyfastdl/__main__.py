"""``python -m pyfastdl``: the same as the command ``pyfastdl``."""

from __future__ import annotations

import sys

from pyfastdl.cli import main

if __name__ == "__main__":
    sys.exit(main())
