"""The command ``pyfastdl``: one module a subcommand, imported when it is the one that was asked for.

So a command works as long as what *it* needs works, whatever else is broken. A subcommand's module has ``configure``,
which adds its arguments to a parser, and ``run``, which takes what was parsed and gives the exit status.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence

__all__ = ["main"]

# name -> (the module that has it, what it does)
_COMMANDS = {
    "check": ("pyfastdl.cli.check", "compare pyfastdl with Pillow and torchvision on your own image files, bit by bit"),
}

INTERRUPTED = 128 + signal.SIGINT
_BROKEN_PIPE = 128 + signal.SIGPIPE


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: what follows the command's name; None takes the process's own.

    Returns:
        The exit status: what the subcommand says; 2 for wrong usage; 130 after Ctrl-C.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        parsed = _parser(words).parse_args(words)
        status: int = importlib.import_module(_COMMANDS[parsed.command][0]).run(parsed)
        sys.stdout.flush()
    except SystemExit as end:  # argparse, after --help or a mistake
        return end.code if isinstance(end.code, int) else 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone. The interpreter would complain when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    return status


def _parser(words: list[str]) -> argparse.ArgumentParser:
    from pyfastdl import __version__

    parser = argparse.ArgumentParser(prog="pyfastdl", description="A data loader for PyTorch, and its tools.")
    parser.add_argument("--version", action="version", version=f"pyfastdl {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    chosen = next((word for word in words if not word.startswith("-")), None)
    for name, (module, summary) in _COMMANDS.items():
        command = commands.add_parser(name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name == chosen:
            importlib.import_module(module).configure(command)
    return parser
