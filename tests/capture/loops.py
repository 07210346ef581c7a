"""Small training scripts of every kind, written by us, for the capture tests."""

from __future__ import annotations

import textwrap

HEAD = """
import os, sys, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
data = TensorDataset(torch.randn(96, 8), torch.randint(0, 3, (96,)))
def make(): return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
model = make()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_of = nn.functional.cross_entropy
def loader(**kw): return DataLoader(data, batch_size=8, **kw)
"""


def script(body: str) -> str:
    """A script that begins with the imports and a small model."""
    return HEAD + textwrap.dedent(body)


PLAIN = script("""
    for epoch in range(2):
        for x, y in loader():
            optimizer.zero_grad()
            loss_of(model(x), y).backward()
            optimizer.step()
    print("name", __name__, "argv", sys.argv[1:], "file", os.path.basename(__file__))
""")

VALIDATION = script("""
    for epoch in range(2):
        model.train()
        for x, y in loader():
            optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
        model.eval()
        with torch.no_grad():
            for x, y in loader():
                model(x)
""")

ACCUMULATION = script("""
    for i, (x, y) in enumerate(loader()):
        (loss_of(model(x), y) / 4).backward()
        if i % 4 == 3:
            optimizer.step(); optimizer.zero_grad()
""")

GAN = script("""
    other = make(); second = torch.optim.Adam(other.parameters())
    for x, y in loader():
        optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
        second.zero_grad(); loss_of(other(x), y).backward(); second.step()
""")

LBFGS = script("""
    solver = torch.optim.LBFGS(model.parameters(), max_iter=4)
    x, y = data.tensors
    def closure():
        solver.zero_grad(); loss = loss_of(model(x), y); loss.backward(); return loss
    for _ in range(10):
        solver.step(closure)
""")

NO_LOADER = script("""
    x, y = data.tensors
    for _ in range(12):
        optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
""")

INFERENCE = script("""
    with torch.inference_mode():
        for _ in range(30):
            model(data.tensors[0])
""")

SKIPPED_STEPS = script("""
    scaler = torch.amp.GradScaler("cpu")
    for i, (x, y) in enumerate(loader()):
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        scaler.scale(loss * (float("inf") if i % 3 == 0 else 1.0)).backward()
        scaler.step(optimizer); scaler.update()
""")

#: As Lightning and HF Trainer do: the next batch is fetched before the current one is used.
PREFETCH = script("""
    def prefetched(it):
        it = iter(it); ahead = next(it, None)
        while ahead is not None:
            batch, ahead = ahead, next(it, None)
            yield batch
    def closure(x, y):
        loss = loss_of(model(x), y); optimizer.zero_grad(); loss.backward(); return loss
    for x, y in prefetched(loader()):
        optimizer.step(lambda: closure(x, y))
""")

EXIT_IN_LOOP = script("""
    for i, (x, y) in enumerate(loader()):
        optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
        if i == 9:
            sys.exit(7)
""")

RAISES = script("""
    for i, (x, y) in enumerate(loader()):
        optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
        if i == 7:
            raise ValueError("the script's own error")
""")

HARD_EXIT = script("""
    import time
    for epoch in range(2):
        for i, (x, y) in enumerate(loader()):
            optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
    time.sleep(1.1)
    for x, y in loader():
        optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
    os._exit(3)
""")

KILLED = script("""
    import signal
    for x, y in loader():
        optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)
""")

OWN_PROFILER = script("""
    from torch.profiler import profile, schedule
    with profile(schedule=schedule(wait=1, warmup=1, active=3)) as p:
        for x, y in loader():
            optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step(); p.step()
    print("own", len(p.events()) > 0)
""")

LATE_PROFILER = script("""
    from torch.profiler import profile
    for i, (x, y) in enumerate(loader()):
        if i == 6:
            with profile() as p:
                model(x)
            print("own", len(p.events()) > 0)
        optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
""")

SHORT = script("""
    for i, (x, y) in enumerate(loader()):
        optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
        if i == 1:
            break
""")

WORKERS = script("""
    class Big:
        def __len__(self): return 96
        def __getitem__(self, i): return torch.randn(8), i % 3
    def main():
        method = sys.argv[1]
        for epoch in range(2):
            loader = DataLoader(Big(), batch_size=8, num_workers=2,
                                multiprocessing_context=method, persistent_workers=False)
            for x, y in loader:
                optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
        print("done", method)
    if __name__ == "__main__":
        main()
""")

PICKLES = """
import multiprocessing, pickle
def double(x): return 2 * x
class Thing: pass
if __name__ == "__main__":
    assert pickle.loads(pickle.dumps(double)) is double
    assert isinstance(pickle.loads(pickle.dumps(Thing())), Thing)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print("pool", pool.map(double, [21]))
"""

ENVIRONMENT_FIRST = """
import os, sys
assert "torch" not in sys.modules
assert not any(k.startswith("_TIMESINK") for k in os.environ)
os.environ["OMP_NUM_THREADS"] = "1"
import torch
print("threads", torch.get_num_threads())
"""

CHECKPOINT = script("""
    import time
    for x, y in loader():
        optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
        torch.save(model.state_dict(), sys.argv[1])
""")

#: What a compiler does must not depend on being watched; a model must stay picklable.
COMPILED = script("""
    import copy, pickle
    import torch._dynamo.utils as dynamo
    step = torch.compile(lambda x, y: loss_of(model(x), y), backend="aot_eager")
    update = torch.compile(optimizer.step, backend="aot_eager")
    for x, y in DataLoader(data, batch_size=2):
        optimizer.zero_grad(); step(x, y).backward(); update()
    copy.deepcopy(model); pickle.loads(pickle.dumps(model))
    print("compiled", dict(dynamo.counters["stats"]), dict(dynamo.counters["graph_break"]))
""")

#: ``Module.compile`` makes calls go past ``Module._call_impl``.
COMPILED_IN_PLACE = script("""
    model.compile(backend="aot_eager")
    for x, y in loader():
        optimizer.zero_grad(); loss_of(model(x), y).backward(); optimizer.step()
""")

CHECKPOINTED = script("""
    from torch.utils.checkpoint import checkpoint
    for x, y in loader():
        x.requires_grad_()
        optimizer.zero_grad()
        loss_of(checkpoint(model, x, use_reentrant=False), y).backward()
        optimizer.step()
""")
