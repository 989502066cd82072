"""Libraries that have threads, allocators and codecs of their own, imported before and after: all work. Case L2."""

from __future__ import annotations

import itertools

import pytest
from loaders import MODES

pytest.importorskip("cv2")
pytest.importorskip("pyarrow")

OTHERS = ("torch", "numpy", "cv2", "pyarrow")

#: For any two, both orders; with pyfastdl's native modules first, last and between: 3 x 2 of the 120.
ORDERS = [
    (*others[:place], "pyfastdl", *others[place:]) for others in (OTHERS, OTHERS[::-1]) for place in (0, 2, len(OTHERS))
]

PROGRAM = """
import importlib, os, signal, sys, warnings
warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
for name in sys.argv[3:]:
    importlib.import_module(name)
    if name == "pyfastdl":
        import pyfastdl._core, pyfastdl._samples
        picture = pyfastdl.decode_image(sys.argv[1] + "/ant/0.jpg")
import cv2, numpy, pyarrow, pyarrow.compute, torch
from pyfastdl import transforms as T

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, i):
        small = cv2.resize(numpy.full((64, 64, 3), i, numpy.uint8), (32, 32))
        total = pyarrow.compute.sum(pyarrow.array(range(i + 1))).as_py()
        return torch.from_numpy(small).float().matmul(torch.ones(3, 3)), total

def epochs():
    for mode in sys.argv[2].split(","):
        batches = list(pyfastdl.DataLoader(Data(), batch_size=4, num_workers=2, worker_mode=mode))
        assert [batch[1].tolist()[3] for batch in batches] == [i * (i + 1) // 2 for i in range(3, 24, 4)]
        assert all((batch[0][0] == 3 * 4 * n).all() for n, batch in enumerate(batches))
    images = pyfastdl.NativeLoader(sys.argv[1], batch_size=5, transform=[T.RandomResizedCrop(32)], num_workers=2)
    assert sum(len(labels) for _, labels in images) == 15

assert (pyfastdl.decode_image(sys.argv[1] + "/ant/0.jpg") == picture).all()
half_used = iter(pyfastdl.DataLoader(Data(), batch_size=4, num_workers=1, worker_mode=sys.argv[2].split(",")[0]))
next(half_used)
epochs()
pid = os.fork()
if pid == 0:
    signal.alarm(60)
    epochs()
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert len(list(half_used)) == 5
print("done")
"""


def test_the_orders_are_every_one_for_any_two():
    names = (*OTHERS, "pyfastdl")
    pairs = {pair for order in ORDERS for pair in itertools.combinations(order, 2)}
    assert pairs == set(itertools.permutations(names, 2))


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_all_work_whatever_was_imported_first(order, image_folder, run_python):
    done = run_python(PROGRAM, str(image_folder), ",".join(MODES), *order)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
