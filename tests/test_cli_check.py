"""`pyfastdl check`: what it says of good files, of bad ones and of a wrong decoder, in this process and alone."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from encoded_images import encoded, picture, png
from PIL import Image

from pyfastdl import _core
from pyfastdl.cli import main
from pyfastdl.cli.check import reference


@pytest.fixture
def mixed(tmp_path):
    """One file of each kind, below folders of any depth; and what is no image."""
    root = tmp_path / "mixed"
    (root / "deep" / "deeper").mkdir(parents=True)
    files = {
        "baseline.jpg": encoded(picture(61, 93), "JPEG"),
        "deep/progressive.jpg": encoded(picture(61, 93), "JPEG", progressive=True),
        "deep/cmyk.jpg": encoded(picture(64, 64, 4), "JPEG"),
        "deep/deeper/gray.jpg": encoded(picture(33, 17, 1), "JPEG"),
        "a.png": encoded(picture(40, 30), "PNG"),
        "palette.png": png(17, 33, 3, 8),
        "a.webp": encoded(picture(50, 40), "WEBP"),
        "a.bmp": encoded(picture(20, 30), "BMP"),
    }
    for name, data in files.items():
        (root / name).write_bytes(data)
    return root


def check(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["check", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def start(*arguments: object, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pyfastdl", "check", *map(str, arguments)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, **{**pipes, "cwd": "/", **options})


def test_every_kind_of_file_is_equal(mixed, tmp_path, capsys):
    report = tmp_path / "report.json"
    status, out, _ = check(capsys, mixed, "--json", report)
    assert status == 0, out
    assert "8 equal, none differs" in out
    found = json.loads(report.read_text())
    assert found["all_equal"] and found["files"] == 8 and not found["interrupted"]
    assert {name: kind["files"] for name, kind in found["formats"].items()} == {
        "JPEG baseline": 1, "JPEG progressive": 1, "JPEG baseline CMYK": 1, "JPEG baseline gray": 1,
        "PNG": 1, "PNG palette": 1, "WebP": 1, "BMP": 1,
    }  # fmt: skip
    assert all(kind["equal"] == 1 and kind["first_difference"] is None for kind in found["formats"].values())
    assert found["formats"]["JPEG baseline"]["routes"] == {"native regions": 1}
    assert found["formats"]["BMP"]["routes"] == {"Pillow": 1}


def test_without_torchvision_the_transform_is_compared_by_numpy(mixed, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torchvision", None)  # importing it fails
    status, out, _ = check(capsys, mixed)
    assert status == 0, out
    assert "no torchvision" in " ".join(out.split())


def one_value_off(y, x, channel):
    """Pixels that a wrong decoder would give."""

    def change(pixels):
        if pixels is not None:
            pixels[y, x, channel] ^= 1
        return pixels

    return change


def test_a_wrong_decoder_is_reported_with_pixel_and_values(mixed, tmp_path, capsys, monkeypatch):
    decode, change, report = _core.decode, one_value_off(5, 7, 1), tmp_path / "report.json"
    right = decode((mixed / "a.png").read_bytes())[5, 7, 1]

    def wrong_png(data, **options):
        return change(decode(data, **options)) if _core.sniff(data) == "png" else decode(data, **options)

    monkeypatch.setattr(_core, "decode", wrong_png)
    status, out, _ = check(capsys, mixed, "--json", report)
    assert status == 1
    pixel = f"full decode, pixel (y=5, x=7, channel=1): reference {right}, pyfastdl {right ^ 1}"
    assert f"PNG: {mixed / 'a.png'}: {pixel}" in out
    found = json.loads(report.read_text())
    assert [name for name, kind in found["formats"].items() if kind["different"]] == ["PNG", "PNG palette"]
    first = found["formats"]["PNG"]["first_difference"]["difference"]
    assert (first["y"], first["x"], first["channel"]) == (5, 7, 1)
    assert (first["reference"], first["pyfastdl"]) == (right, right ^ 1)


def test_a_region_that_is_wrong_is_reported(mixed, capsys, monkeypatch):
    decode, change = _core.resized_crop_encoded, one_value_off(0, 0, 2)
    monkeypatch.setattr(
        _core, "resized_crop_encoded", lambda *arguments, **options: change(decode(*arguments, **options))
    )
    status, out, _ = check(capsys, mixed / "baseline.jpg")
    assert status == 1
    assert "region (top=" in out and "pixel (y=0, x=0, channel=2)" in out
    assert check(capsys, mixed / "baseline.jpg", "--regions", 0)[0] == 0


def test_a_transform_that_is_wrong_is_reported(mixed, capsys, monkeypatch):
    monkeypatch.setattr(reference, "STD", (0.229, 0.224, 0.226))
    status, out, _ = check(capsys, mixed / "baseline.jpg")
    assert status == 1
    assert "transform (top=" in out and "channel=2)" in out


def test_the_first_difference_is_the_first_file_whatever_thread_is_faster(mixed, capsys, monkeypatch):
    decode, change = _core.decode, one_value_off(0, 0, 0)
    paths = [mixed / f"{i}.png" for i in range(12)]
    for path in paths:
        path.write_bytes(encoded(picture(9, 9), "PNG"))

    def wrong(data, **options):
        if len(data) == paths[0].stat().st_size:
            time.sleep(0.001)
        return change(decode(data, **options))

    monkeypatch.setattr(_core, "decode", wrong)
    status, out, _ = check(capsys, *paths)
    assert status == 1
    assert f"PNG: {paths[0]}" in out


def test_what_both_refuse_is_no_difference(mixed, capsys):
    (mixed / "cut.jpg").write_bytes((mixed / "baseline.jpg").read_bytes()[:300])
    (mixed / "page.jpg").write_bytes(b"<html>not found</html>")
    (mixed / "empty.png").write_bytes(b"")
    (mixed / "gone.jpg").symlink_to("nowhere")
    os.mkfifo(mixed / "fifo.jpg")
    (mixed / "deep" / "loop").symlink_to(mixed)
    status, out, err = check(capsys, mixed)
    assert status == 0, out
    assert "13 files" in out
    assert "loop" in err
    assert "8 equal, 5 refused by both, none differs" in out
    for name in ("cut.jpg", "page.jpg", "empty.png", "gone.jpg", "fifo.jpg"):
        assert f"refused by both: {mixed / name}: " in out


def test_refused_files_are_named_the_first_on_the_terminal_and_all_in_the_json(mixed, tmp_path, capsys, monkeypatch):
    bad = [mixed / f"bad{i:02}.png" for i in range(23)]
    for path in bad:
        path.write_bytes(b"")
    report = tmp_path / "report.json"
    status, out, _ = check(capsys, mixed, "--json", report)
    assert status == 0
    assert [f"refused by both: {path}: " in out for path in bad] == [True] * 20 + [False] * 3
    assert "3 more refused by both: --json" in out
    assert "8 equal, 23 refused by both, none differs" in out
    found = json.loads(report.read_text())
    assert found["all_equal"]
    assert [refused["path"] for refused in found["refused_by_both"]] == list(map(str, bad))
    assert all(refused["reason"] for refused in found["refused_by_both"])
    assert found["refused_by_one"] == []

    # Pillow refuses everything: what both refused still is so, the rest is a finding each.
    monkeypatch.setattr(reference.Reference, "open", lambda self, data: Image.open(io.BytesIO()))
    good = [tmp_path / f"good{i:02}.png" for i in range(23)]
    for path in good:
        path.write_bytes(encoded(picture(9, 9), "PNG"))
    status, out, _ = check(capsys, *good, bad[0], "--json", report)
    assert status == 1
    assert [f"refused by the reference alone: {path}: " in out for path in good] == [True] * 20 + [False] * 3
    assert "3 more refused by one side alone: --json" in out
    assert "0 equal, 1 refused by both, 23 refused by one side alone, nothing could be compared" in out
    found = json.loads(report.read_text())
    assert [refused["path"] for refused in found["refused_by_one"]] == list(map(str, good))
    assert not found["all_equal"]


def test_files_of_which_none_could_be_compared_are_status_2(tmp_path, capsys):
    (tmp_path / "empty.png").write_bytes(b"")
    status, out, _ = check(capsys, tmp_path)
    assert status == 2
    assert "1 file in " in out
    assert "0 equal, 1 refused by both, nothing could be compared" in out
    assert "none differs" not in out


def test_one_file_is_one(mixed, capsys, monkeypatch):
    status, out, _ = check(capsys, mixed / "a.png")
    assert status == 0
    assert out.splitlines()[-1].startswith("1 file in ")
    decode, change = _core.decode, one_value_off(0, 0, 0)
    monkeypatch.setattr(_core, "decode", lambda data, **options: change(decode(data, **options)))
    status, out, _ = check(capsys, mixed / "a.png")
    assert status == 1
    assert "0 equal, 1 differs" in out


def test_what_one_side_refuses_is_a_finding(mixed, capsys, monkeypatch):
    cut = mixed / "cut.png"
    cut.write_bytes((mixed / "a.png").read_bytes()[:-60])
    decode = _core.decode
    monkeypatch.setattr(
        _core,
        "decode",
        lambda data, **options: (
            np.zeros((40, 30, 3), np.uint8) if len(data) == cut.stat().st_size else decode(data, **options)
        ),
    )
    status, out, _ = check(capsys, mixed)
    assert status == 1
    assert f"refused by the reference alone: {cut}" in out


def test_names_come_from_stdin_and_samples_repeat(mixed, capsys, monkeypatch, tmp_path):
    names = sorted(str(path) for path in mixed.rglob("*.*"))
    report = tmp_path / "report.json"
    for separator in ("\n", "\0"):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(separator.join(names).encode())))
        assert check(capsys, "-", "--json", report)[0] == 0
        assert json.loads(report.read_text())["files"] == 8
    seen = []
    for seed in (1, 1, 2, 3):
        assert check(capsys, mixed, mixed, "--limit", 3, "--seed", seed, "--json", report)[0] == 0
        found = json.loads(report.read_text())
        assert found["files"] == 3
        seen.append(sorted(found["formats"]))
    assert seen[0] == seen[1]
    assert len({tuple(kinds) for kinds in seen}) > 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "PATH"),
        (["nowhere"], "there is no file or folder"),
        (["empty"], "no image files in"),
        (["empty", "--limit", "0"], "--limit: must be a whole number, 1 or more, got '0'"),
        (["empty", "--limit", "x"], "--limit: must be a whole number, 1 or more, got 'x'"),
        (["empty", "--regions", "-1"], "--regions: must be a whole number, 0 or more, got '-1'"),
        (["empty", "--regions", "1.5"], "--regions: must be a whole number, 0 or more, got '1.5'"),
        (["empty", "--json", "nowhere/report.json"], "nowhere"),
    ],
)
def test_wrong_usage_and_nothing_to_check_are_status_2(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    status, _, err = check(capsys, *arguments)
    assert status == 2
    assert words in err


def test_other_commands_and_help(capsys):
    assert main(["--help"]) == 0
    assert "check" in capsys.readouterr().out
    assert main([]) == 2
    assert main(["no-such-command"]) == 2
    assert main(["check", "--help"]) == 0
    assert "exit status: 0 all equal" in capsys.readouterr().out


def test_names_of_any_bytes_are_shown(tmp_path, capsys, monkeypatch):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n.png")
    Image.fromarray(picture(9, 9)).save(path)
    decode, change = _core.decode, one_value_off(0, 0, 0)
    monkeypatch.setattr(_core, "decode", lambda data, **options: change(decode(data, **options)))
    report = tmp_path / "report.json"
    status, out, _ = check(capsys, tmp_path, "--json", report)
    assert status == 1
    assert r"\xff\n.png: full decode" in out
    assert json.loads(report.read_text())["formats"]["PNG"]["first_difference"]["path"].endswith(r"\xff\n.png")


# -- as a process of its own


def test_as_a_command_it_needs_no_torch(mixed):
    # A torch that breaks when it is imported; torchvision with it.
    code = (
        "import sys; sys.modules['torch'] = sys.modules['torchvision'] = None\n"
        "from pyfastdl.cli import main; sys.exit(main(['check', sys.argv[1]]))"
    )
    done = subprocess.run([sys.executable, "-c", code, mixed], capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    assert "8 equal" in done.stdout
    assert done.stderr == ""


def test_a_broken_pipe_is_quiet(mixed):
    process = start(mixed)
    process.stdin.close()
    process.stdout.close()  # before anything is printed
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 128 + signal.SIGPIPE


def test_an_interrupt_prints_what_was_found(mixed, tmp_path):
    # The interrupt comes when three files are done.
    code = """if True:
        import os, signal, sys
        from pyfastdl.cli import main
        from pyfastdl.cli.check import findings
        add = findings.Findings.add

        def add_and_interrupt(self, result):
            add(self, result)
            if self.count == 3:
                os.kill(os.getpid(), signal.SIGINT)

        findings.Findings.add = add_and_interrupt
        sys.exit(main(["check", sys.argv[1], "--json", sys.argv[2]]))
    """
    report = tmp_path / "report.json"
    command = [sys.executable, "-c", code, str(mixed), str(report)]
    reset = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)  # noqa: E731
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", preexec_fn=reset)
    assert done.returncode == 130, done.stderr
    assert "interrupted: 3 of 8 files" in done.stdout
    assert "Traceback" not in done.stderr
    assert json.loads(report.read_text())["interrupted"] is True
