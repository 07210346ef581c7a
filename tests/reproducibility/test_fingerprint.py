"""Fingerprints: equal if and only if the bits are, and the run never notices."""

from __future__ import annotations

import dataclasses
import random
import struct
from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from timesink.reproducibility import compress  # noqa: E402
from timesink.reproducibility.fingerprint import (  # noqa: E402
    fingerprint,
    fingerprints,
    is_exact,
)

DTYPES = sorted(
    {
        d
        for d in (getattr(torch, n) for n in dir(torch))
        if isinstance(d, torch.dtype) and not str(d).startswith("torch.q")
    },
    key=str,
)


def of_bytes(data: bytes, dtype: Any) -> Any:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_by_its_bits(dtype: Any) -> None:
    data = random.Random(1).randbytes(96)
    if dtype is torch.bool:
        data = bytes(b & 1 for b in data)
    whole = fingerprint(of_bytes(data, dtype))
    assert is_exact(whole)
    assert whole == fingerprint(of_bytes(data, dtype))
    for i in range(len(data)):
        other = data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :]
        assert fingerprint(of_bytes(other, dtype)) != whole
    scalars = {fingerprint(t) for t in of_bytes(data, dtype)}
    size = torch.empty(0, dtype=dtype).element_size()
    distinct = {data[i : i + size] for i in range(0, len(data), size)}
    assert len(scalars) == len(distinct)


def test_nan_payloads_and_signed_zeros_count() -> None:
    bits = [0x7FC00000, 0x7FC00001, 0x7F800001, 0xFFC00000, 0x00000000, 0x80000000]
    values = [of_bytes(struct.pack("<I", b), torch.float32) for b in bits]
    assert len({fingerprint(v) for v in values}) == len(bits)
    spread = [v.expand(3, 1).t() for v in values]  # a layout that has to be copied
    assert len({fingerprint(v) for v in spread}) == len(bits)
    assert fingerprint(0.0) != fingerprint(-0.0)
    assert fingerprint(float("nan")) == fingerprint(float("nan"))


shapes = st.lists(st.integers(0, 4), max_size=4)


@settings(max_examples=60, deadline=None)
@given(shapes, st.randoms(use_true_random=False))
def test_the_layout_does_not_count_and_the_shape_does(shape: list[int], rng: Any) -> None:
    order = list(range(len(shape)))
    rng.shuffle(order)
    value = torch.randn(shape)
    back = [order.index(i) for i in range(len(shape))]
    permuted = value.permute(order).contiguous().permute(back)
    wide = torch.zeros([2 * s for s in shape])
    strided = wide[tuple(slice(None, None, 2) for _ in shape)]
    strided.copy_(value)
    assert torch.equal(permuted, value)
    assert fingerprint(permuted) == fingerprint(strided) == fingerprint(value)
    assert fingerprint(value.unsqueeze(0)) != fingerprint(value)
    assert fingerprint(value.to(torch.float64)) != fingerprint(value)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=64), st.binary(max_size=64))
def test_equal_exactly_if_the_bytes_are(a: bytes, b: bytes) -> None:
    left, right = (torch.frombuffer(bytearray(x + b"!"), dtype=torch.uint8) for x in (a, b))
    assert (fingerprint(left) == fingerprint(right)) == (a == b)


LARGE = compress.SMALL * 3 + 77


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, LARGE - 1), min_size=1, max_size=4, unique=True), st.integers(0, 7))
def test_no_bit_of_a_large_tensor_is_lost(places: list[int], bit: int) -> None:
    value = torch.frombuffer(bytearray(random.Random(0).randbytes(LARGE)), dtype=torch.uint8)
    whole = fingerprint(value)
    changed = value.clone()
    for place in places:
        changed[place] ^= 1 << bit
    assert fingerprint(changed) != whole
    changed[places] = value[places]
    assert fingerprint(changed) == whole


def test_order_counts_in_large_tensors() -> None:
    value = torch.arange(compress.SMALL, dtype=torch.int32)
    assert (
        len({fingerprint(v) for v in (value, value.flip(0), value.roll(1), value.roll(256))}) == 4
    )


def test_the_product_is_exact_at_its_extremes() -> None:
    columns = compress._columns("cpu")
    assert (int(columns.min()), int(columns.max())) == (-64, 63)
    for fill in (-128, 127):
        rows = torch.full((64, compress.ROW), fill, dtype=torch.int8)
        assert torch.equal(compress._product(rows).long(), rows.long() @ columns.long())
    rows = torch.randint(-128, 128, (96, compress.ROW), dtype=torch.int8)
    assert torch.equal(compress._product(rows).long(), rows.long() @ columns.long())


def test_threads_and_pieces_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    value = torch.randn(1_000_003)
    whole = fingerprint(value)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert fingerprint(value) == whole
    finally:
        torch.set_num_threads(threads)
    monkeypatch.setattr(compress, "_AT_ONCE", {"cpu": 64})
    assert fingerprint(value) == whole


def test_a_device_without_the_product_goes_through_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = torch.randint(-128, 128, (32, compress.ROW), dtype=torch.int8)
    expected = compress._product(rows)

    class Elsewhere:
        device = torch.device("xpu")

        def cpu(self) -> Any:
            return rows

    class Back:
        def to(self, device: Any) -> Any:
            return expected

    monkeypatch.setattr(compress, "_without_product", {"xpu"})
    monkeypatch.setattr(torch, "_int_mm", lambda a, b: expected)
    monkeypatch.setattr(torch, "cat", lambda parts: Back())
    assert compress._product(Elsewhere()) is expected


def kinds() -> dict[str, Any]:
    x = torch.randn(4, 6)
    small = torch.tensor([[0.0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 0], [5, 0, 0, 6]])
    scales, zeros = torch.rand(4) + 0.1, torch.zeros(4, dtype=torch.int64)
    found = {
        "strided": x,
        "coo": small.to_sparse(),
        "csr": small.to_sparse_csr(),
        "csc": small.to_sparse_csc(),
        "bsr": small.to_sparse_bsr((2, 2)),
        "bsc": small.to_sparse_bsc((2, 2)),
        "nested": torch.nested.nested_tensor([x, x[:2]]),
        "jagged": torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged),
        "complex": torch.complex(x, x + 1),
    }
    if torch.backends.quantized.supported_engines:
        found["qint8"] = torch.quantize_per_tensor(x, 0.1, 3, torch.qint8)
        found["quint8 per channel"] = torch.quantize_per_channel(x, scales, zeros, 0, torch.quint8)
        found["quint4x2"] = torch.quantize_per_channel(x, scales, scales, 0, torch.quint4x2)
    return found


@pytest.mark.filterwarnings("ignore")
def test_other_kinds_of_tensors() -> None:
    found = kinds()
    prints = {name: fingerprint(value) for name, value in found.items()}
    assert all(is_exact(text) for text in prints.values()), prints
    assert len(set(prints.values())) == len(prints)
    copies = {n: v if n == "quint4x2" else v.clone() for n, v in found.items()}  # has no clone
    assert {name: fingerprint(value) for name, value in copies.items()} == prints


@pytest.mark.filterwarnings("ignore")
def test_every_part_of_a_composite_counts() -> None:
    dense = torch.tensor([[0.0, 1, 0, 2], [3, 0, 0, 0]])
    csr = dense.to_sparse_csr()
    moved = torch.sparse_csr_tensor(csr.crow_indices(), csr.col_indices() ^ 1, csr.values(), (2, 4))
    assert fingerprint(moved) != fingerprint(csr)
    coo = dense.to_sparse()
    assert fingerprint(coo * -1) != fingerprint(coo)
    x = torch.randn(4, 6)
    q = torch.quantize_per_tensor(x, 0.1, 3, torch.qint8)
    other = torch._make_per_tensor_quantized_tensor(q.int_repr(), 0.2, 3)
    assert fingerprint(other) != fingerprint(q)
    nested = [torch.nested.nested_tensor(r) for r in ([x, x[:2]], [x[:2], x])]
    assert fingerprint(nested[0]) != fingerprint(nested[1])


def test_lazy_conjugation_and_negation_are_resolved() -> None:
    z = torch.complex(torch.randn(5), torch.randn(5))
    assert fingerprint(z.conj()) == fingerprint(z.conj().resolve_conj())
    assert fingerprint(z.conj().imag) == fingerprint(-z.imag)
    assert fingerprint(z.conj()) != fingerprint(z)


def test_only_shapes_where_there_are_no_bits() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    real = torch.ones(3)
    whole = fingerprint(real)
    with FakeTensorMode():
        assert fingerprint(torch.empty(2, 3)) == "shape float32(2, 3)"
        assert fingerprint(real) == whole  # the mode does not see us
    assert fingerprint(torch.empty(2, 3, device="meta")) == "shape float32(2, 3)"
    assert fingerprint(torch.nn.LazyLinear(3).weight) == "shape lazy parameter"
    freed = torch.ones(4)
    freed.untyped_storage().resize_(0)
    assert not is_exact(fingerprint(freed))
    assert fingerprint([real, torch.empty(1, device="meta")]).startswith("shape ")
    seen: list[str] = []
    torch.vmap(lambda t: (seen.append(fingerprint(t)), seen.append(fingerprint(real)), t)[2])(
        torch.ones(2, 3)
    )
    assert seen == ["shape float32(3,)", whole]


class Plain(torch.Tensor):  # type: ignore[misc]
    pass


class Pair(torch.Tensor):  # type: ignore[misc]
    """A wrapper as torch's protocol describes it."""

    @staticmethod
    def __new__(cls, a: Any, b: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype)

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["a", "b"], None

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError("an operator was run on it")


class Closed(torch.Tensor):  # type: ignore[misc]
    """A wrapper that does not say what it is made of."""

    @staticmethod
    def __new__(cls, a: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError("an operator was run on it")


def test_subclasses() -> None:
    x = torch.randn(3)
    assert fingerprint(x.as_subclass(Plain)) == fingerprint(x)
    assert fingerprint(torch.nn.Parameter(x)) == fingerprint(x)
    pair = fingerprint(Pair(x, x + 1))
    assert is_exact(pair)
    assert pair == fingerprint(Pair(x.clone(), x + 1))
    assert pair != fingerprint(Pair(x, x + 2))
    assert fingerprint(Closed(x)) == "shape Closed float32(3,)"


@dataclasses.dataclass
class Batch:
    image: Any
    label: Any


Point = namedtuple("Point", "x y")


class Own:
    __slots__ = ("a", "me")

    def __init__(self, a: Any) -> None:
        self.a, self.me = a, self


def test_containers_by_path() -> None:
    x = torch.ones(2)
    found = fingerprints(
        {"batch": Batch(x, [1, 2]), "p": Point(x, {"k": x}), 3: np.zeros(2), "own": Own(x)}, "in"
    )
    assert list(found) == [
        "in.batch.image", "in.batch.label[0]", "in.batch.label[1]", "in.p.x", "in.p.y.k", "in.3",
        "in.own.a", "in.own.me",
    ]  # fmt: skip
    assert found["in.batch.image"] == found["in.p.y.k"] == found["in.own.a"] == fingerprint(x)


def test_what_does_not_count_in_containers_and_what_does() -> None:
    x, y = torch.ones(2), torch.zeros(2)
    assert fingerprint({"a": x, "b": y}) == fingerprint(OrderedDict([("b", y), ("a", x)]))
    assert fingerprint({"a": x, "b": y}) != fingerprint({"a": y, "b": x})
    assert fingerprint((x, y)) == fingerprint([x, y]) != fingerprint([y, x])
    assert fingerprint({"p", "q"}) == fingerprint({"q", "p"}) != fingerprint({"p"})
    assert fingerprint([]) != fingerprint([[]])
    assert fingerprint(1) != fingerprint(1.0) != fingerprint(True)
    assert fingerprint("1") != fingerprint(1)
    assert fingerprint(np.zeros(3, "f4")) != fingerprint(np.zeros(3, "f8"))
    assert fingerprint(np.arange(6).reshape(2, 3).T.copy()) == fingerprint(
        np.arange(6).reshape(2, 3).T
    )
    assert fingerprint(object()).startswith("opaque")
    assert not is_exact(fingerprint([object(), 1]))


def test_generators_by_their_state() -> None:
    for make, draw in (
        (lambda: torch.Generator().manual_seed(1), lambda g: torch.rand(1, generator=g)),
        (lambda: np.random.default_rng(1), lambda g: g.random()),
        (lambda: random.Random(1), lambda g: g.random()),
    ):
        a, b = make(), make()
        assert fingerprint(a) == fingerprint(b)
        draw(a)
        assert fingerprint(a) != fingerprint(b)


def test_modules_and_optimizers_without_their_hooks() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

    def never(*a: Any) -> None:
        raise AssertionError("a hook was run")

    model.register_state_dict_pre_hook(never)
    optimizer.register_state_dict_pre_hook(never)
    before = {**fingerprints(model, "model"), **fingerprints(optimizer, "opt")}
    assert {"model.0.weight", "model.1.running_mean", "opt.group0.lr"} <= set(before)
    model(torch.randn(4, 2)).sum().backward()
    optimizer.step()
    after = {**fingerprints(model, "model"), **fingerprints(optimizer, "opt")}
    assert "opt.group0.0.exp_avg" in after
    assert after["opt.group0.lr"] == before["opt.group0.lr"]
    assert after["model.1.running_mean"] != before["model.1.running_mean"]


def train(watch: bool) -> list[Any]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.Dropout(0.3), torch.nn.Flatten(), torch.nn.Linear(288, 4)
    ).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters())
    out: list[Any] = []
    for _ in range(4):
        x = torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last)
        hidden = model(x)
        loss = hidden.square().mean()
        if watch:
            fingerprint({"x": x, "h": hidden, "loss": loss, "model": model, "o": optimizer})
        loss.backward()
        if watch:
            fingerprint([p.grad for p in model.parameters()])
        optimizer.step()
        optimizer.zero_grad()
        out.append((loss.detach(), x.stride(), hidden._version, hidden.grad_fn is not None))
    return [out, torch.get_rng_state(), torch.is_grad_enabled(), list(model.parameters())]


def test_the_run_is_the_same_with_and_without() -> None:
    assert fingerprint(train(True)) == fingerprint(train(False))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_products_in_integers_and_in_floats_are_the_same(seed: int) -> None:
    """Also for the extremes: whichever is faster may be used."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(-128, 128, (64, compress.ROW), dtype=torch.int8, generator=generator)
    rows[0], rows[1] = -128, 127
    columns = compress._columns("cpu")
    expected = rows.to(torch.int64) @ columns.to(torch.int64)
    for precision in ("highest", "medium"):
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision(precision)
        assert torch.equal(compress._in_floats(rows, columns).to(torch.int64), expected)
        torch.set_float32_matmul_precision(before)
    assert torch.equal(torch._int_mm(rows, columns).to(torch.int64), expected)
