"""The queue of a farm's run: nothing is lost, nothing counts twice, and only what kills workers is blamed."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType

from hypothesis import given, settings
from hypothesis import strategies as st

from pluginkit.farm.dispatch import AT_ONCE, MOST, OUTSTANDING, Batch, Dispatcher

CPU, RTX = "cpu", "rtx"


def batches(count: int, each: int = 3) -> list[Batch]:
    return [Batch(tuple(range(place, place + each)), CPU) for place in range(0, count * each, each)]


def test_a_worker_has_few_batches_at_once() -> None:
    queue = Dispatcher(batches(20))
    queue.joined("a", {CPU}, 2)
    queue.joined("b", {CPU}, 1)
    given_ = [name for name, _ in queue.assignments()]
    assert (given_.count("a"), given_.count("b")) == (2 * OUTSTANDING, OUTSTANDING)
    assert queue.assignments() == []


def test_who_is_not_of_a_kind_gets_nothing_of_it() -> None:
    queue = Dispatcher([Batch((0,), CPU), Batch((1,), RTX)])
    queue.joined("a", {CPU}, 1)
    assert queue.assignments() == [("a", Batch((0,), CPU))]
    assert queue.wanted() == {RTX}
    queue.joined("b", {CPU, RTX}, 1)
    assert (queue.assignments(), queue.wanted()) == ([("b", Batch((1,), RTX))], set())


def test_what_needs_an_answer_waits_for_it() -> None:
    first, second = Batch((0, 1), CPU), Batch((2,), CPU, after=(1,))
    queue = Dispatcher([second, first])
    queue.joined("a", {CPU}, 1)
    assert queue.assignments() == [("a", first)]
    assert queue.finished("a", first)
    assert queue.assignments() == [("a", second)]


def test_batches_are_put_together_by_what_an_item_takes() -> None:
    """Not before that is known; as long as they end soon; and at the end so few that all workers have some."""
    queue = Dispatcher([*batches(2000), Batch((9000,), RTX, after=(0,))])
    queue.joined("a", {CPU}, 1)
    first, second = [batch for _, batch in queue.assignments()]
    assert (len(first.items), len(second.items)) == (3, 3)
    queue.finished("a", first, 3 * AT_ONCE / 30)
    (many,) = [batch for _, batch in queue.assignments()]
    assert many.items == tuple(range(6, 36)), "of one after another, as many as take that long"
    queue.finished("a", second, 3 * AT_ONCE / 30)
    queue.joined("b", {CPU, RTX}, 4)
    sizes = []
    while given_ := queue.assignments():
        sizes += [len(batch.items) for _, batch in given_ if batch.kind == CPU]
        for name, batch in given_:
            assert queue.finished(name, batch, len(batch.items) * AT_ONCE / 1000)
    queue.finished("a", many)
    assert queue.done
    assert max(sizes) == MOST - MOST % 3
    assert sizes[-1] == 3
    assert sum(sizes) == 6000 - 36


def test_what_was_put_together_runs_item_by_item_where_its_worker_dies() -> None:
    queue = Dispatcher([Batch((0,), CPU), *(Batch((place,), CPU, after=(0,)) for place in range(1, 30))])
    queue.joined("a", {CPU}, 1)
    ((_, first),) = queue.assignments()
    queue.finished("a", first, 0.001)
    (_, many), _ = queue.assignments()
    assert len(many.items) > 5
    assert many.after == (0,) * len(many.items), "whose answers each needs"
    queue.left("a")
    queue.joined("b", {CPU}, 1)
    found = []
    while given_ := queue.assignments():
        for name, batch in given_:
            found += batch.items
            assert len(batch.items) == 1 or batch.items[0] not in many.items
            assert queue.finished(name, batch, 0.001)
    assert sorted(found) == list(range(1, 30))


def test_a_death_of_what_was_put_together_blames_nobody_yet() -> None:
    """Of many items nearly all are innocent, and another worker may die by chance while one of them runs alone."""
    queue = Dispatcher(batches(20))
    queue.joined("a", {CPU}, 1)
    first, second = [batch for _, batch in queue.assignments()]
    queue.finished("a", first, 0.001)
    many = queue.assignments()[0][1]
    assert many.parts
    queue.finished("a", second, 0.001)
    assert queue.left("a")[1] == []
    queue.joined("b", {CPU}, 1)
    again = queue.assignments()[0][1]
    assert (again.items, again.deaths, again.apart) == (many.parts[0].items, (), True), "as it was"
    assert queue.left("b")[1] == []
    queue.joined("c", {CPU}, 1)
    ((_, alone),) = queue.assignments()
    assert (len(alone.items), alone.deaths) == (1, ("b",))
    (finding,) = queue.left("c")[1]
    assert finding.items == alone.items


def test_only_what_may_have_been_running_is_suspect_and_runs_alone_next() -> None:
    one, two, three = batches(3)
    queue = Dispatcher([one, two, three])
    queue.joined("a", {CPU}, 1)
    assert [batch for _, batch in queue.assignments()] == [one, two]
    assert queue.left("a") == ([one, two], [])
    queue.joined("b", {CPU}, 1)
    alone = [batch for _, batch in queue.assignments()]
    assert alone == [Batch((0,), CPU, deaths=("a",))], "one item, and nothing beside it"
    queue.finished("b", alone[0])
    assert [batch.items for _, batch in queue.assignments()] == [(1,)]


def test_what_was_executed_is_not_suspect_while_its_answers_are_fetched() -> None:
    one, two = batches(2)
    queue = Dispatcher([one, two])
    queue.joined("a", {CPU}, 1)
    queue.assignments()
    queue.executed("a", one)
    queue.left("a")
    queue.joined("b", {CPU}, 1)
    assert [batch.deaths for _, batch in queue.assignments()] == [("a",)]
    queue = Dispatcher([one])
    queue.joined("a", {CPU}, 1)
    queue.assignments()
    # They don't come at the first attempt to fetch them.
    queue.executed("a", one)
    queue.executed("a", one)
    queue.left("a")
    queue.joined("b", {CPU}, 1)
    assert queue.assignments() == [("b", one)], "once"


def test_a_second_death_alone_is_a_finding() -> None:
    queue = Dispatcher([Batch((0,), CPU), Batch((1,), CPU, after=(0,))])
    queue.joined("a", {CPU}, 1)
    queue.assignments()
    queue.left("a")
    queue.joined("b", {CPU}, 1)
    queue.assignments()
    assert queue.left("b")[1] == [Batch((0,), CPU, deaths=("a", "b"))]
    queue.joined("c", {CPU}, 1)
    assert [batch.items for _, batch in queue.assignments()] == [(1,)], (
        "what waited for its answers has none to wait for"
    )


def test_a_suspect_goes_to_another_worker_where_there_is_one() -> None:
    queue = Dispatcher([Batch((0,), CPU)])
    queue.joined("a", {CPU}, 1)
    queue.assignments()
    queue.left("a")
    # The same name again, as of a worker whose address is fixed; and another.
    queue.joined("a", {CPU}, 1)
    queue.joined("b", {CPU}, 1)
    assert [name for name, _ in queue.assignments()] == ["b"]


def test_the_answers_of_a_worker_that_was_given_up_do_not_count() -> None:
    (batch,) = batches(1)
    queue = Dispatcher([batch])
    queue.joined("a", {CPU}, 1)
    queue.assignments()
    queue.left("a")
    assert not queue.finished("a", batch)
    assert not queue.done


def calls(function: Callable[[], object]) -> int:
    """How many functions of Python's a call calls, itself included."""
    found = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal found
        found += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return found


def fleet_of(workers: int, rounds: int) -> Dispatcher:
    """Workers without work, and batches so many times as there are workers."""
    queue = Dispatcher(batches(workers * rounds, 1))
    for name in range(workers):
        queue.joined(str(name), {RTX, CPU}, 1)
    return queue


def test_a_thousand_workers_are_not_compared_with_one_another_at_each_answer() -> None:
    first, idle = [], []
    for workers in (50, 400):
        queue = fleet_of(workers, OUTSTANDING)
        first.append(calls(queue.assignments))
        idle.append(calls(queue.assignments))
    assert first[1] < 12 * first[0], "it grows with the fleet, not with its square"
    assert idle[0] == idle[1], "nothing waits, so no worker is looked at"


def test_what_waits_is_not_counted_anew_at_each_answer() -> None:
    """Once a case's cost is known, too, by which batches are put together."""
    asked = []
    for rounds in (500, 5000):
        queue = fleet_of(2, rounds)
        (_, first), *_ = queue.assignments()
        queue.finished("0", first, AT_ONCE / 1000)
        asked.append(calls(queue.assignments))
    assert asked[0] == asked[1]


@settings(max_examples=150, deadline=None)
@given(
    count=st.integers(1, 40),
    each=st.integers(1, 5),
    workers=st.integers(2, 8),
    killers=st.sets(st.integers(0, 199), max_size=3),
    innocent=st.integers(0, 3),
    seed=st.integers(0, 2**32),
)
def test_every_item_is_recorded_once_whoever_dies(
    count: int, each: int, workers: int, killers: set[int], innocent: int, seed: int
) -> None:
    """Killers end the worker that begins them. Others die for no reason, but not twice in the same item."""
    draw = random.Random(seed)
    everything = batches(count, each)
    killers &= {item for batch in everything for item in batch.items}
    queue = Dispatcher(everything)
    names = iter(range(10**6))
    for _ in range(workers):
        queue.joined(str(next(names)), {CPU}, draw.randint(1, 2))
    given_: dict[str, list[Batch]] = {}
    recorded: list[int] = []
    blamed: list[int] = []

    def death(name: str) -> None:
        given_.pop(name, None)
        blamed.extend(item for batch in queue.left(name)[1] for item in batch.items)
        queue.joined(str(next(names)), {CPU}, 1)

    for _ in range(100_000):
        if queue.done:
            break
        for name, batch in queue.assignments():
            given_.setdefault(name, []).append(batch)
        name = draw.choice([name for name, had in given_.items() if had])
        batch = given_[name][0]
        if killers & set(batch.items):
            death(name)
        elif innocent and not batch.alone and draw.random() < 0.2:
            innocent -= 1
            death(name)
        else:
            given_[name].remove(batch)
            assert queue.finished(name, batch, draw.choice([0.0, 0.001, 0.1]))
            recorded += batch.items
    assert queue.done
    assert sorted(recorded + blamed) == list(range(count * each))
    assert set(blamed) == killers
