"""Memory between two pages that can't be accessed."""

from __future__ import annotations

import ctypes
import mmap

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pluginkit.host.errors import Finding
from pluginkit.host.memory.buffers import HostBuffer
from pluginkit.host.memory.guarded_tensors import check_guards

PAGE = mmap.PAGESIZE


def at(buffer: HostBuffer, offset: int) -> ctypes.c_uint8:
    return ctypes.c_uint8.from_address(buffer.address + offset)


@given(size=st.integers(0, 3 * PAGE), at_start=st.booleans())
@example(size=PAGE, at_start=False)
def test_it_is_aligned_and_lies_at_an_end_of_its_pages(size: int, at_start: bool) -> None:
    buffer = HostBuffer(size, at_start=at_start)
    assert buffer.address % 256 == 0
    assert buffer.contents.size == size
    end = buffer.address + size
    assert buffer.address % PAGE == 0 if at_start else -end % PAGE < 256
    buffer.contents[:] = 7
    check_guards(buffer, "enqueue", "output 0")


@pytest.mark.parametrize("at_start", [False, True])
@pytest.mark.parametrize(
    ("size", "offset", "where"),
    [
        (PAGE, PAGE, "0 bytes behind its end"),
        (PAGE, -1, "1 bytes before it"),
        (PAGE, 2 * PAGE - 1, "4095 bytes behind its end"),
        (0, 0, "0 bytes behind its end"),
    ],
)
def test_an_access_to_the_pages_around_is_noticed(size: int, offset: int, where: str, at_start: bool) -> None:
    read, written = (HostBuffer(size, at_start=at_start) for _ in range(2))
    assert at(read, offset).value >= 0
    with pytest.raises(Finding, match=rf"^enqueue: read beyond input 1, which has {size} bytes: .*\({where}\)"):
        check_guards(read, "enqueue", "input 1")
    at(written, offset).value ^= 1
    with pytest.raises(Finding, match=rf"^enqueue: written beyond output 0, .*\({where}\) stands 0x"):
        check_guards(written, "enqueue", "output 0")


@pytest.mark.parametrize(("size", "at_start", "offset"), [(200, False, -1), (200, True, 255), (200, False, 255)])
def test_a_write_to_the_rest_of_its_own_pages_is_found(size: int, at_start: bool, offset: int) -> None:
    buffer = HostBuffer(size, at_start=at_start)
    at(buffer, offset).value ^= 0xFF
    with pytest.raises(Finding, match="written beyond"):
        check_guards(buffer, "enqueue", "output 0")


@pytest.mark.parametrize("at_start", [False, True])
def test_what_is_around_is_as_asked(at_start: bool) -> None:
    """Whole elements on both sides, also of the pages that an access opens; a write there is found as ever."""
    buffer = HostBuffer(200, at_start=at_start, around=bytes(range(1, 9)))
    assert [at(buffer, offset).value for offset in range(200, 216)] == [*range(1, 9)] * 2
    assert [at(buffer, offset).value for offset in range(-16, 0)] == [*range(1, 9)] * 2
    assert at(buffer, -PAGE).value == 1
    assert buffer.damage() is None
    at(buffer, 203).value = 9
    assert buffer.damage() == (203, 9)
    assert buffer.open_around
    assert not HostBuffer(512).open_around


def test_the_access_goes_on_and_the_first_one_is_kept() -> None:
    buffer = HostBuffer(256)
    assert at(buffer, 300).value == at(HostBuffer(256), 300).value
    assert at(buffer, 257).value >= 0
    assert buffer.touched() == 300
    at(buffer, -PAGE).value = 9
    assert buffer.damage() == (-PAGE, 9)
