"""Scratch memory: the same name gives the same memory, as long as it fits."""

import threading

import numpy as np

from qrank.kernels.memory import Workspace, scratch

FLOAT, SINGLE = np.dtype(float), np.dtype("float32")


def test_the_same_name_gives_the_same_memory_while_it_fits():
    work = Workspace()
    first = work.array("a", (2, 3), FLOAT)
    for shape in ((2, 3), (3, 2), (5,), ()):
        again = work.array("a", shape, FLOAT)
        assert again.shape == shape
        assert np.shares_memory(first, again)
    assert not np.shares_memory(first, work.array("b", (2, 3), FLOAT))


def test_what_is_too_small_or_of_another_type_is_made_anew():
    work = Workspace()
    first = work.array("a", (6,), FLOAT)
    larger = work.array("a", (7,), FLOAT)
    assert not np.shares_memory(first, larger)
    assert np.shares_memory(larger, work.array("a", (6,), FLOAT))
    single = work.array("a", (2,), SINGLE)
    assert single.dtype == SINGLE
    assert not np.shares_memory(larger, single)


def test_an_array_can_be_lent_and_is_then_written_to():
    work, mine = Workspace(), np.zeros((3, 4))
    work.lend("spare", mine)
    work.array("spare", (2, 6), FLOAT)[...] = 7
    assert (mine == 7).all()
    assert np.shares_memory(mine, work.array("spare", (3,), FLOAT))


def test_a_part_has_names_of_its_own_and_the_same_generator():
    work = Workspace(3)
    part = work.part("one")
    assert part is work.part("one")
    assert part is not work.part("two")
    assert part.rng is work.rng
    assert not np.shares_memory(work.array("a", (2,), FLOAT), part.array("a", (2,), FLOAT))
    assert work.rng.random() == np.random.default_rng(3).random()


def test_scratch_belongs_to_its_thread():
    mine, found = scratch("t", (4,), FLOAT), []
    assert np.shares_memory(mine, scratch("t", (2, 2), FLOAT))
    thread = threading.Thread(target=lambda: found.append(scratch("t", (4,), FLOAT)))
    thread.start()
    thread.join()
    assert not np.shares_memory(mine, found[0])
