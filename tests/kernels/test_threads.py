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
