"""A notebook, cell by cell in a kernel: workers start and stop there as anywhere, and an interrupted cell is no end."""

from __future__ import annotations

import asyncio
import tempfile

import nbformat
import psutil
import pytest
from loaders import MODES, until
from nbclient import NotebookClient
from traitlets.config import Config

PREPARE = """
import gc, os, threading, time, warnings
import psutil, torch
import pyfastdl
warnings.filterwarnings("ignore", message=".*fork.*")  # Python's advice since 3.12: a kernel has threads

class Points(torch.utils.data.Dataset):
    \"\"\"On a line, to be found.\"\"\"
    def __init__(self, length=64, wait=0.0):
        self.length, self.wait = length, wait
    def __len__(self):
        return self.length
    def __getitem__(self, index):
        time.sleep(self.wait)
        x = torch.tensor([index / self.length])
        return x, 3 * x + 1, index

def loader(**arguments):
    # fork: whatever Python's default is, a class that was typed in here is known to the workers
    context = {"multiprocessing_context": "fork"} if MODE != "thread" else {}
    arguments = {"dataset": Points(), "batch_size": 8, "shuffle": True, "num_workers": 2, **context, **arguments}
    return pyfastdl.DataLoader(**arguments, worker_mode=MODE)

def left():
    gc.collect()
    return psutil.Process().num_threads(), psutil.Process().num_fds(), len(psutil.Process().children(recursive=True))

def settles(before):
    end = time.monotonic() + 20
    while any(now > then for now, then in zip(left(), before)) and time.monotonic() < end:
        time.sleep(0.02)
    assert all(now <= then for now, then in zip(left(), before)), (left(), before)
"""

TRAIN = """
net = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(net.parameters(), 0.5)
losses = []
data = loader(persistent_workers=PERSISTENT)
for epoch in range(4):
    total = 0.0
    for x, y, _ in data:
        loss = (net(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    losses.append(total)
assert losses[-1] < 0.2 * losses[0], losses
assert sum(len(index) for *_, index in data) == 64
del data
print(MODE, "trained")
"""

INTERRUPTED = """
slow = loader(dataset=Points(400, wait=0.02))
seen = 0
for *_, index in slow:
    seen += len(index)
    if seen == 16:
        open("under way", "w").close()
"""

GO_ON = """
assert 0 < seen < 400
slow.dataset.wait = 0.0
for epoch in range(2):
    indices = sorted(i for *_, index in slow for i in index.tolist())
    assert indices == list(range(400)), "a whole epoch after the interrupted one"
del slow
print(MODE, "went on")
"""

AGAIN = """
for _ in range(2):
    next(iter(loader()))
before = left()
for _ in range(200 if MODE == "thread" else 8):
    for batch in loader():
        break
del batch  # its memory is shared with workers, and has a descriptor
settles(before)
print(MODE, "flat")
"""

THE_END = """
settles((1000, 1000, 0))
print("no process left")
half_used = iter(loader())
next(half_used)  # and the kernel ends
print(*[child.pid for child in psutil.Process().children()])
"""


async def interrupt_when_under_way(client, marker):
    while not marker.exists():
        await asyncio.sleep(0.02)
    marker.unlink()
    await client.km.interrupt_kernel()


async def run(client, folder, stderr):
    async with client.async_setup_kernel(stderr=stderr):
        for number, cell in enumerate(client.nb.cells):
            execution = client.async_execute_cell(cell, number)
            if cell.source == INTERRUPTED:
                await asyncio.wait_for(
                    asyncio.gather(execution, interrupt_when_under_way(client, folder / "under way")), 120
                )
            else:
                await execution


def cells():
    yield nbformat.v4.new_code_cell(PREPARE)
    for mode in MODES:
        for code in (f"MODE, PERSISTENT = {mode!r}, False\n{TRAIN}", f"PERSISTENT = True\n{TRAIN}"):
            yield nbformat.v4.new_code_cell(code)
        yield nbformat.v4.new_code_cell(INTERRUPTED, metadata={"tags": ["raises-exception"]})
        for code in (GO_ON, AGAIN):
            yield nbformat.v4.new_code_cell(code)
    yield nbformat.v4.new_code_cell(THE_END)


@pytest.fixture
def client(tmp_path, monkeypatch):
    """A kernel's client that writes nothing to the home folder and opens no port."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    notebook = nbformat.v4.new_notebook(cells=list(cells()))
    with tempfile.TemporaryDirectory() as sockets:  # tmp_path is too long for a socket's name
        config = Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}})
        yield NotebookClient(
            notebook,
            config=config,
            timeout=120,
            resources={"metadata": {"path": str(tmp_path)}},
        )


def test_a_notebook_trains_is_interrupted_and_leaves_nothing(client, tmp_path):
    with open(tmp_path / "stderr", "w+") as stderr:
        asyncio.run(run(client, tmp_path, stderr))
        stderr.seek(0)
        assert stderr.read() == ""
    printed, raised = [], []
    for cell in client.nb.cells:
        for output in cell.outputs:
            if output.output_type == "error":
                raised.append(output.ename)
            else:
                assert output.name == "stdout", output.text
                printed += output.text.splitlines()
    assert raised == ["KeyboardInterrupt"] * len(MODES)
    *printed, pids = printed
    words = [f"{mode} {what}" for mode in MODES for what in ("trained", "trained", "went on", "flat")]
    assert printed == [*words, "no process left"]
    assert len(pids.split()) == (0 if MODES[-1] == "thread" else 2)
    assert until(lambda: not any(map(psutil.pid_exists, map(int, pids.split()))))
