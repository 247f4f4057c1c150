"""BLAS's threads are one number for the process: whoever changes it, in whichever order they leave, it comes back."""

import threading

import numpy as np
import pytest
import threadpoolctl

import qrank
from conftest import low_rank
from qrank.kernels import threads


def blas() -> list[int]:
    return [lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"]


@pytest.fixture
def two():
    with threadpoolctl.threadpool_limits(2, "blas"):
        if set(blas()) != {2}:
            pytest.skip("this BLAS cannot be given two threads")
        yield


def test_blocks_that_leave_in_the_order_in_which_they_came(two):
    """The second comes when the first has changed the number, and leaves after it: what it saw then is not what was."""
    there, go = threading.Barrier(2), threading.Event()

    def other():
        with threads.blas_threads(1):
            there.wait()
            go.wait()

    thread = threading.Thread(target=other)
    with threads.own_threads():
        assert set(blas()) == {1}
        thread.start()
        there.wait()
    assert set(blas()) == {1}  # the other still wants one
    assert threads.count() == 2  # but this is what the caller has given
    go.set()
    thread.join()
    assert set(blas()) == {2}


def test_who_wants_fewest_threads_is_obeyed(two):
    with threads.blas_threads(1):
        with threads.blas_threads(2):
            assert set(blas()) == {2}  # its own block within the block
            seen = []
            thread = threading.Thread(target=lambda: seen.extend(_inside(1)))
            thread.start()
            thread.join()
            assert set(seen) == {1}
            assert set(blas()) == {2}
        assert set(blas()) == {1}
    assert set(blas()) == {2}


def _inside(number: int) -> list[int]:
    with threads.blas_threads(number):
        return blas()


def test_blas_comes_back_after_an_error(two):
    with pytest.raises(ZeroDivisionError), threads.own_threads():
        raise ZeroDivisionError
    assert set(blas()) == {2}
    assert threads.count() == 2


def test_a_piece_may_ask_for_pieces(two):
    """Threads of the pool that waited for the pool would never end."""
    found = threads.each(lambda s: threads.each(lambda inner: inner.start, 4, 1), 4, 1)
    assert found == [[0, 1, 2, 3]] * 4


def test_completions_in_two_threads_leave_blas_as_it_was(two, rng):
    x = low_rank(rng, (12, 11, 8))
    y = np.where(rng.random(x.shape) < 0.6, x, np.nan)
    alone = qrank.complete(y, method="vmtqn").x
    found = []

    def work():
        found.extend(qrank.complete(y, method="vmtqn").x for _ in range(5))

    both = [threading.Thread(target=work) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert set(blas()) == {2}
    assert len(found) == 10
    for one in found:
        np.testing.assert_array_equal(one, alone)


def test_pieces_run_in_threads_that_hold_blas_to_one(two):
    here = threading.current_thread().name

    def seen(s):
        return s.start, s.stop, threading.current_thread().name, set(blas())

    found = threads.each(seen, 5, 3)
    assert [one[:2] for one in found] == [(0, 3), (3, 5)]
    assert all(name.startswith("qrank") and number == {1} for _, _, name, number in found)
    assert threads.each(seen, 5, 5) == [(0, 5, here, {1})]  # one piece is not worth handing over
    with threads.own_threads(1):
        assert {name for _, _, name, _ in threads.each(seen, 5, 1)} == {here}
    assert threads.each(seen, 0, 3) == []


class FakeBlas:
    """A library that keeps a number of threads."""

    def __init__(self, layer, number):
        self.threading_layer, self.num_threads = layer, number

    def set_num_threads(self, number):
        self.num_threads = number


@pytest.mark.parametrize("layer", ["pthreads", "openmp"])
def test_what_blas_had_outside_all_blocks_is_known_inside_them(layer, monkeypatch):
    lib = FakeBlas(layer, 5)
    monkeypatch.setattr(threads, "_blas", lambda: [lib])
    with threads.blas_threads(3), threads.blas_threads(2):
        assert lib.num_threads == 2
        assert threads.count() == 5
        with threads.own_threads():
            assert (lib.num_threads, threads.count()) == (1, 5)
        with threads.own_threads(4):
            assert (lib.num_threads, threads.count()) == (1, 4)
        assert lib.num_threads == 2
    assert lib.num_threads == 5


def test_without_a_blas_that_can_be_told_there_is_one_thread(monkeypatch):
    monkeypatch.setattr(threads, "_blas", lambda: [])
    assert threads.count() == 1
    with threads.own_threads():
        assert threads.each(lambda s: s.start, 3, 1) == [0, 1, 2]
