"""In which order the passes of a resize run: as in the installed Pillow, unless pinned.

The order is the one difference between versions that shows in the pixels of a resize: see csrc/transform/filter.h.
`make test-pillow` runs this and the other comparisons against several versions.
"""

from __future__ import annotations

import PIL
import pytest

from pyfastdl import _pillow


@pytest.mark.parametrize(
    ("version", "order"),
    [
        ("9.5.0.post2", "horizontal_first"),
        ("12.1.1", "horizontal_first"),
        ("12.2.0", "tall_vertical_first"),
        ("12.3.0.dev0", "tall_vertical_first"),
        ("13.0.0", "shrink_vertical_first"),
        ("13.0rc1", "shrink_vertical_first"),
        ("20.1", "shrink_vertical_first"),
    ],
)
def test_order_by_version(version: str, order: str) -> None:
    assert _pillow._by_version(version) == order


def test_probe_agrees_with_the_installed_version() -> None:
    assert _pillow._behaves_like(_pillow._by_version(PIL.__version__))


@pytest.mark.parametrize("order", _pillow.PASS_ORDERS)
def test_the_probe_is_believed_over_the_version(monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    monkeypatch.delenv(_pillow.ENVIRONMENT_VARIABLE, raising=False)
    monkeypatch.setattr(_pillow, "_found", None)
    monkeypatch.setattr(_pillow, "_probed", lambda: _pillow._vertical_first(order))
    assert _pillow.pass_order() == order
    monkeypatch.setattr(_pillow, "_found", None)
    monkeypatch.setattr(_pillow, "_probed", lambda: [False, True])  # no order that is known
    assert _pillow.pass_order() == _pillow._by_version(PIL.__version__)


def test_the_order_can_be_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(_pillow.ENVIRONMENT_VARIABLE, "tall_vertical_first")
    assert _pillow.pass_order() == "tall_vertical_first"
    assert _pillow.pass_order("horizontal_first") == "horizontal_first"
    with pytest.raises(ValueError, match="sideways"):
        _pillow.pass_order("sideways")
    monkeypatch.setenv(_pillow.ENVIRONMENT_VARIABLE, "sideways")
    with pytest.raises(ValueError, match=_pillow.ENVIRONMENT_VARIABLE):
        _pillow.pass_order()
