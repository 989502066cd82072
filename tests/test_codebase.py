"""Checks on the code itself: what may include what, what a module may show, what the package holds."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib.metadata import files, requires, version
from pathlib import Path

import pytest

import pyfastdl

ROOT = Path(__file__).resolve().parents[1]
CSRC = ROOT / "csrc"
STAGES = {"base", "source", "read", "decode", "transform", "ring"}
MAY_INCLUDE = {
    **{stage: {stage, "base"} for stage in STAGES},
    "pipeline": STAGES | {"pipeline"},
    "device": {"device", "base"},
    "bindings": STAGES | {"pipeline", "device", "bindings"},
}
CODE = [
    path
    for folder in ("csrc", "pyfastdl", "tests", "benchmarks", "examples", "tools", "cmake", ".ci")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.is_file() and not {"__pycache__", "results"} & set(path.parts)
] + [ROOT / name for name in ("CMakeLists.txt", "CMakePresets.json", "Makefile", "README.md", "pyproject.toml")]
HEADERS = sorted(CSRC.rglob("*.h"))
SOURCES = sorted(CSRC.rglob("*.cpp"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


# -- the C++ tree


@pytest.mark.parametrize("path", HEADERS + SOURCES, ids=name)
def test_a_stage_includes_only_itself_and_base(path):
    folder = path.relative_to(CSRC).parts[0]
    # Highway's headers are written in quotes by its own custom; which folders may use it, CMakeLists.txt says.
    for included in re.findall(r'^\s*#\s*include\s+"(?!hwy/)([^"]+)"', path.read_text(), re.MULTILINE):
        assert (CSRC / included).is_file(), f"{included}: paths are written from csrc/"
        assert included.split("/")[0] in MAY_INCLUDE[folder], f"{folder}/ may not include {included}"


@pytest.mark.parametrize("path", [p for p in HEADERS + SOURCES if "bindings" not in p.parts], ids=name)
def test_only_bindings_see_python(path):
    assert not re.search(r"#\s*include\s*[<\"](Python\.h|pybind11/|numpy/|torch/|ATen/|c10/)", path.read_text())


@pytest.mark.parametrize("path", HEADERS, ids=name)
def test_a_header_opens_with_what_it_is(path):
    assert path.read_text().startswith("//")


@pytest.mark.parametrize("path", [p for p in SOURCES if "bindings" not in p.parts], ids=name)
def test_a_source_has_a_header(path):
    assert path.with_suffix(".h").is_file()


# -- all files


@pytest.mark.parametrize("path", CODE, ids=name)
def test_file_is_small_and_names_no_machine(path):
    text = path.read_text()
    assert text.count("\n") <= 400, "what would split it naturally?"
    found = re.search(r"(?<![\w.$}])/(?:home|root|work|Users)/\S*", text)
    assert found is None, f"{found.group()} is a path of one machine"


# -- the public interface (what later versions add is tested where it is added)


@pytest.mark.parametrize(
    "dotted",
    [
        "NativeLoader",
        "ImageFolder",
        "decode_image",
        "SampleError",
        "LoaderError",
        "build_info",
        "DataLoader",
        "get_worker_info",
        "sample_rng",
        "transforms.Compose",
        "transforms.RandomResizedCrop",
        "transforms.Resize",
        "transforms.CenterCrop",
        "transforms.RandomHorizontalFlip",
        "transforms.Normalize",
        "transforms.functional.resized_crop",
    ],
)
def test_public_name_exists_and_is_documented(dotted):
    found = pyfastdl
    for part in dotted.split("."):
        found = getattr(found, part)
    assert inspect.getdoc(found)
    if "." not in dotted:
        assert dotted in pyfastdl.__all__
        assert dotted in dir(pyfastdl)


def test_signatures_are_the_documented_ones():
    loader = list(inspect.signature(pyfastdl.NativeLoader).parameters)
    assert loader[:2] == ["data", "batch_size"]
    assert set(loader) >= {
        *("shuffle", "seed", "drop_last", "targets", "return_index", "sampler", "batch_sampler", "transform"),
        *("num_workers", "device", "dtype", "memory_format", "on_error", "prefetch_factor", "generator", "timeout"),
    }
    assert list(inspect.signature(pyfastdl.ImageFolder).parameters)[:2] == ["root", "transform"]
    crop = inspect.signature(pyfastdl.transforms.functional.resized_crop)
    assert list(crop.parameters)[:6] == ["src", "top", "left", "height", "width", "size"]
    sample = inspect.signature(pyfastdl.transforms.Compose.sample)
    assert list(sample.parameters)[:6] == ["self", "height", "width", "seed", "epoch", "index"]
    assert issubclass(pyfastdl.SampleError, RuntimeError)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = pyfastdl.no_such_name


# -- the installed package

MODULES = [Path(str(file.locate())) for file in files("pyfastdl-native") or [] if file.suffix == ".so"]


def module_name(path: Path) -> str:
    return path.name.split(".")[0]


def test_package_holds_what_it_should():
    inside = {str(file) for file in files("pyfastdl-native") or [] if ".dist-info" not in str(file)}
    inside = {file for file in inside if "__pycache__" not in file}
    sources = {f"pyfastdl/{p.relative_to(ROOT / 'pyfastdl')}" for p in (ROOT / "pyfastdl").rglob("*.py*")}
    wanted = {file for file in sources if file.endswith((".py", ".pyi"))} | {"pyfastdl/py.typed"}
    modules = {file for file in inside if file.endswith(".so")}
    assert {module_name(Path(file)) for file in modules} == {"_core", "_samples", "_workers"}
    scripts = {file for file in inside if Path(file).parent.name in ("bin", "Scripts")}
    assert {Path(file).stem for file in scripts} == {"pyfastdl"}
    assert inside - modules - scripts == wanted, "the installed package isn't this checkout: `make setup`"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_module_shows_nothing_but_its_entry(path):
    shown = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    symbols = [line.split()[-1] for line in shown.splitlines()]
    assert symbols == [f"PyInit_{module_name(path)}"]


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_module_needs_no_torch_cuda_or_openmp(path):
    needed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    assert "libc.so" in needed
    assert "not found" not in needed
    assert not re.search(r"lib(torch|c10|cuda|cudart|nv\w*|gomp|omp|iomp5|python)[\w.-]*\.so", needed), needed


def test_import_loads_neither_torch_nor_native_modules(run_python):
    done = run_python(
        "import os, sys, pyfastdl\n"
        "heavy = {'torch', 'numpy', 'PIL', *('pyfastdl._' + name for name in ('core', 'samples', 'workers'))}\n"
        "heavy &= set(sys.modules)\n"
        "print(sorted(heavy), len(os.listdir('/proc/self/task')))\n"
        "dir(pyfastdl), pyfastdl.__version__\n"
        "print('torch' in sys.modules)\n"
        "pyfastdl.NativeLoader\n"
        "print('torch' in sys.modules, 'pyfastdl._core' in sys.modules)\n"
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["[] 1", "False", "True True"]


def test_native_modules_leave_a_free_threaded_interpreter_free(run_python):
    """Of one that doesn't say that it can do without, the import brings the interpreter's lock back."""
    done = run_python(
        "import sys, sysconfig, warnings; warnings.simplefilter('error')\n"
        "import numpy, torch\n"
        "before = getattr(sys, '_is_gil_enabled', lambda: True)()\n"
        "import pyfastdl._core, pyfastdl._samples, pyfastdl._workers\n"
        "print(before == getattr(sys, '_is_gil_enabled', lambda: True)())\n"
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.parametrize("path", sorted((ROOT / "pyfastdl").glob("*.pyx")), ids=name)
def test_cython_modules_say_that_they_need_no_interpreters_lock(path):
    assert "freethreading_compatible=True" in path.read_text().splitlines()[0]


# -- the project file


def project() -> dict:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_one_version_everywhere():
    assert pyfastdl.__version__ == version("pyfastdl-native") == project()["project"]["version"]


def test_build_group_has_the_build_systems_needs():
    content = project()
    assert set(content["build-system"]["requires"]) <= set(content["dependency-groups"]["build"])


def test_torchvision_is_never_needed_at_run_time():
    names = {re.split(r"[^\w-]", need)[0].lower() for need in requires("pyfastdl-native") or []}
    assert names == {"numpy", "torch", "pillow", "rich"}


# -- the tests themselves


@pytest.mark.parametrize(
    ("ci", "body", "outcome"),
    [
        ("", "def test_it():\n    pytest.importorskip('no_such_module')", "1 skipped"),
        ("", "pytest.importorskip('no_such_module')", "1 skipped"),
        ("true", "def test_it():\n    pytest.importorskip('no_such_module')", "1 failed"),
        ("true", "pytest.importorskip('no_such_module')", "1 error"),
    ],
)
def test_a_missing_test_dependency_fails_in_ci_only(ci, body, outcome, tmp_path, run_python):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(f"import pytest\n{body}\n")
    done = run_python("import pytest; pytest.main(['--import-mode=importlib'])", env={"CI": ci})
    assert f" {outcome} in " in done.stdout, done.stdout + done.stderr
