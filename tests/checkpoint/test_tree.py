"""Trees of arrays in a file: they come back to the bit, and what is no such file is refused with a sentence."""

import errno
import hashlib
import os
from typing import NamedTuple

import numpy as np
import pytest

import qrank
from qrank.checkpoint import tree
from qrank.checkpoint.fingerprint import fingerprint


class Pair(NamedTuple):
    a: object
    b: object


def same(one, other):
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.strides == other.strides or not one.size
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, tuple | list):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    else:
        assert one == other or (one != one and other != other)


def test_everything_comes_back_as_it_was(tmp_path, rng):
    x = rng.standard_normal((3, 4, 5))
    given = {
        "arrays": [x, np.asfortranarray(x), x.transpose(1, 0, 2), x[0, 0, :0], np.array(3.5), x.astype(np.float32)],
        "kinds": (x > 0, x.view(np.complex128) if x.shape[-1] % 2 == 0 else x[..., :4] * 1j, np.arange(4, dtype=">i2")),
        "named": Pair((1, 2.5), Pair(None, [True, -0.0])),
        "numbers": [np.float64(1 / 3), np.float32(0.1), np.int64(-7), float("inf"), float("nan"), 5e-324, 2**127 - 1],
        "words": ["", "array", "tuple", "ä"],
        "empty": [(), [], {}],
        "generator": np.random.default_rng(5).bit_generator.state,
        "older generator": np.random.RandomState(5).get_state(legacy=False),
    }
    tree.save(tmp_path / "tree", given)
    same(tree.load(tmp_path / "tree"), given)
    assert os.listdir(tmp_path) == ["tree"]


def test_gaps_are_not_written(tmp_path, rng):
    x = rng.standard_normal((6, 6))
    tree.save(tmp_path / "tree", [x[::2, ::3]])
    np.testing.assert_array_equal(tree.load(tmp_path / "tree")[0], x[::2, ::3])


def test_a_state_is_numbers_and_nothing_else(tmp_path):
    class Local(NamedTuple):  # its name finds nothing
        a: int

    for value in (Local(1), {1, 2}, np.array([object()]), np.array(["word"]), lambda: 0):
        with pytest.raises(qrank.InputError, match="only arrays and numbers"):
            tree.save(tmp_path / "tree", [value])
    assert not os.listdir(tmp_path)


def test_any_changed_byte_is_found(tmp_path, rng):
    path = tmp_path / "tree"
    tree.save(path, Pair(rng.standard_normal(4), 1))
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(qrank.FileError, match="is damaged" if at >= len(tree.MAGIC) else "no checkpoint"):
            tree.load(path)
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        with pytest.raises(qrank.FileError):
            tree.load(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(qrank.FileError, match="is damaged"):
        tree.load(path)


def forged(path, said: str) -> None:
    """A file with a right checksum around a text of one's own."""
    text = said.encode()
    body = tree.MAGIC + len(text).to_bytes(8, "little") + text
    path.write_bytes(body + hashlib.sha256(body).digest())


@pytest.mark.parametrize(
    "said",
    [
        '{"tree": ["array", 0], "arrays": [["<f8", [1000000000000], [0]]]}',  # more than the file holds
        '{"tree": ["array", 0], "arrays": [["<f8", [-1], [0]]]}',
        '{"tree": ["array", 0], "arrays": [["|O", [1], [0]]]}',
        '{"tree": ["array", 3], "arrays": []}',
        '{"tree": ["os:system", "true"], "arrays": []}',
        '{"tree": ["no.such.module:State", 1], "arrays": []}',
        '{"tree": ["scalar", "|O", "00"], "arrays": []}',
        '{"arrays": []}',
        "[" * 100_000,
        "no json",
    ],
    ids=lambda said: said[:40],
)
def test_what_a_file_says_is_not_believed(tmp_path, said):
    forged(tmp_path / "tree", said)
    with pytest.raises(qrank.FileError, match="is damaged"):
        tree.load(tmp_path / "tree")


@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch, call):
    path = tmp_path / "tree"
    tree.save(path, [1])

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(OSError, match="No space"):
            tree.save(path, [2])
    assert tree.load(path) == [1]
    tree.save(path, [3])
    assert tree.load(path) == [3]
    assert os.listdir(tmp_path) == ["tree"]


def test_fingerprints_tell_apart():
    values = [1, 1.0, "1", True, None, (1,), [1], (1, 1), ((1,), 1), {"a": 1}, {"a": 2}, np.array(1), np.array([1])]
    values += [np.array([1.0]), np.array([[1.0]]), qrank.penalties.LogSum(2.0), qrank.penalties.LogSum(3.0)]
    values += [qrank.METHODS["vmtqn"].configured(), qrank.METHODS["vmtqn"].configured(tol=1e-4), np.sum, np.mean]
    values += [qrank.METHODS["tqn"].configured(q=np.eye(3)), qrank.METHODS["tqn"].configured(q=-np.eye(3))]
    digits = [fingerprint(value) for value in values]
    assert len(set(digits)) == len(digits)
    assert fingerprint(qrank.METHODS["vmtqn"].configured()) == fingerprint(qrank.METHODS["vmtqn"].configured())
    x = np.arange(6.0).reshape(2, 3)
    assert fingerprint(x) == fingerprint(np.asfortranarray(x))
