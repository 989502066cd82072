"""Configuring the C++ build as others do: with conda's compilers, from a path with spaces, without a library."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CMAKE = shutil.which("cmake", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")

# library -> its cache variables' name, header, apt package, conda package
LIBRARIES = {
    "jpeg": ("PYFASTDL_JPEG", "jpeglib.h", "libjpeg-dev", "libjpeg-turbo"),
    "png": ("PYFASTDL_PNG", "png.h", "libpng-dev", "libpng"),
    "webp": ("PYFASTDL_WEBP", "webp/decode.h", "libwebp-dev", "libwebp"),
    "highway": ("PYFASTDL_HIGHWAY", "hwy/highway.h", "libhwy-dev", "libhwy"),
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the C++ tree, in a folder with spaces."""
    copy = tmp_path_factory.mktemp("a path with spaces") / "py fast dl"
    for folder in ("cmake", "csrc"):
        shutil.copytree(ROOT / folder, copy / folder)
    shutil.copy(ROOT / "CMakeLists.txt", copy)
    return copy


def configure(checkout: Path, build: Path, *options: str, env: dict[str, str] | None = None):
    assert CMAKE, "cmake belongs to the build group of pyproject.toml: run `make test`"
    return subprocess.run(
        [CMAKE, "-S", checkout, "-B", build, "-DPYFASTDL_PYTHON=OFF", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *options],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
    )


def cache(build: Path) -> dict[str, str]:
    entries = re.findall(r"^(\w+):\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    return dict(entries)


@pytest.fixture(scope="module")
def found(checkout, tmp_path_factory) -> dict[str, str]:
    """The cache of a plain configuration: where this machine has the libraries."""
    build = tmp_path_factory.mktemp("plain build")
    done = configure(checkout, build)
    assert done.returncode == 0, done.stderr
    return cache(build)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_missing_library_is_named_with_its_packages(library, checkout, found, tmp_path):
    # The others are given; this one is looked for in an empty folder only.
    given = [
        f"-D{variable}_{part}={found[f'{variable}_{part}']}"
        for other, (variable, *_) in LIBRARIES.items()
        for part in ("INCLUDE_DIR", "LIBRARY")
        if other != library
    ]
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    only_there = [f"-DCMAKE_FIND_ROOT_PATH={nowhere}", "-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY"]
    done = configure(checkout, tmp_path / "build", *only_there, *given)
    assert done.returncode != 0
    _, header, apt, conda = LIBRARIES[library]
    assert header in done.stderr
    assert f"apt install {apt}" in done.stderr
    assert f"conda install -c conda-forge {conda}" in done.stderr
    for other, (_, other_header, *_) in LIBRARIES.items():
        assert other == library or other_header not in done.stderr


def test_conda_environment_is_honoured(checkout, found, tmp_path):
    """The variables that conda's compiler packages set, and libraries that lie in the environment."""
    prefix = tmp_path / "conda env"
    for variable, header, *_ in LIBRARIES.values():
        here = prefix / "include" / header
        here.parent.mkdir(parents=True, exist_ok=True)
        here.symlink_to(Path(found[f"{variable}_INCLUDE_DIR"]) / header)
        library = Path(found[f"{variable}_LIBRARY"])
        (prefix / "lib").mkdir(exist_ok=True)
        (prefix / "lib" / library.name).symlink_to(library)
    # Highway's and libwebp's headers include their neighbours.
    for folder, variable in (("hwy", "PYFASTDL_HIGHWAY"), ("webp", "PYFASTDL_WEBP")):
        for header in (Path(found[f"{variable}_INCLUDE_DIR"]) / folder).rglob("*.h"):
            here = prefix / "include" / folder / header.relative_to(Path(found[f"{variable}_INCLUDE_DIR"]) / folder)
            here.parent.mkdir(parents=True, exist_ok=True)
            if not here.exists():
                here.symlink_to(header)

    build = tmp_path / "build"
    compilers = {"CC": found["CMAKE_C_COMPILER"], "CXX": found["CMAKE_CXX_COMPILER"]}
    environment = {
        **compilers,
        "CONDA_PREFIX": str(prefix),
        "CMAKE_PREFIX_PATH": str(prefix),
        "CXXFLAGS": "-fvisibility-inlines-hidden -fmessage-length=0 -ftree-vectorize -fPIC -O2 -pipe -DFROM_CONDA=1",
        "CFLAGS": "-ftree-vectorize -fPIC -O2 -pipe",
        "LDFLAGS": "-Wl,-O2 -Wl,--as-needed",
    }
    done = configure(checkout, build, env=environment)
    assert done.returncode == 0, done.stderr
    entries = cache(build)
    for variable, *_ in LIBRARIES.values():
        assert entries[f"{variable}_INCLUDE_DIR"] == str(prefix / "include")
        assert Path(entries[f"{variable}_LIBRARY"]).parent == prefix / "lib"
    assert "-DFROM_CONDA=1" in (build / "compile_commands.json").read_text()
    # Some of it is compiled, to see that flags and spaces survive.
    built = subprocess.run(
        [CMAKE, "--build", build, "--target", "pyfastdl_base"], env={**os.environ, **environment}, capture_output=True
    )
    assert built.returncode == 0, built.stdout
