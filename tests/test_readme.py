"""README's example runs as it stands there, and what README points to exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_there_is_an_example():
    assert BLOCKS


@pytest.mark.parametrize("count", range(1, len(BLOCKS) + 1))
def test_example_runs(count, image_folder, run_python):
    # run_python works in the folder that holds data/train. A block builds on those before it.
    head = "import warnings; warnings.simplefilter('error')\n"
    head += "warnings.filterwarnings('ignore', 'This DataLoader will create')\n"  # torch's, where there is one CPU
    done = run_python(head + "\n".join(BLOCKS[:count]))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.strip(), "the example prints the verdict"


@pytest.mark.parametrize("document", ["README.md", "benchmarks/README.md"])
def test_links_lead_somewhere(document):
    path = ROOT / document
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / target).exists(), target


def test_never_says_to_install_the_other_package():
    for document in ROOT.glob("*.md"):
        assert not re.search(r"pip install pyfastdl\b(?!-)", document.read_text()), document.name


def test_targets_named_in_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"\bmake ([a-z]\w*)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
