"""What travels to a worker does so by digest: once, verified, and again where it is gone."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from pluginkit.evaluators.protocol import ON_CPU, Answers, Item, RunWork
from pluginkit.farm import worker
from pluginkit.farm.arrays import FEW, Packed, WorkPayload, digest, unpack
from pluginkit.farm.arrivals import Arrivals, Lacking
from pluginkit.farm.dispatch import Batch
from pluginkit.farm.execution import Ended
from pluginkit.farm.executor import _Execution
from pluginkit.farm.facts import Facts, Kind
from pluginkit.farm.fleet import FarmWorker
from pluginkit.farm.payloads import LibraryPayload
from pluginkit.manifest import Manifest
from pluginkit.network.plan import Plan
from pluginkit.run.items import EvaluatorPart

HERE = Path(__file__).parent
MANIFEST = Manifest.load(HERE.parents[1] / "samples" / "bar_plugin")
KIND = Kind("host", "", "any")
LARGE = np.arange(FEW + 36, dtype=np.float32)


def work(*cases: object) -> RunWork:
    plan = Plan((), cases, 0)  # type: ignore[arg-type]
    return RunWork(MANIFEST, HERE, plan, plan)


@pytest.mark.parametrize(
    "array",
    [
        LARGE,
        LARGE.reshape(4, 25).T,
        LARGE[::-1],
        LARGE.astype(ml_dtypes.bfloat16),
        LARGE.astype(ml_dtypes.float8_e4m3fn).reshape(10, 10),
        LARGE.astype(bool),
    ],
)
def test_arrays_arrive_as_they_were(array: np.ndarray) -> None:  # type: ignore[type-arg]
    packed = Packed.of({"one": array, "again": array.copy(), "few": array.ravel()[:3], "word": "x"})
    assert len(packed.arrays) == 1, "what is equal travels once"
    found = unpack(packed.data, packed.arrays.get)
    for name in ("one", "again"):
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()
        assert found[name].flags.writeable
    assert len(packed.data) < 1000
    blank = unpack(packed.without(packed.arrays).data, lambda _: None)["one"]
    assert (blank.shape, blank.dtype) == (array.shape, array.dtype)
    assert not blank.astype(np.float32).any()


def test_empty_and_object_arrays_stay_in_the_pickle() -> None:
    value = [np.zeros((0, 5)), np.array(["a", None] * 50, dtype=object), np.float32(2)]
    packed = Packed.of(value)
    assert not packed.arrays
    assert unpack(packed.data, lambda _: None)[1][0] == "a"


def test_a_worker_keeps_what_it_was_sent(tmp_path: Path) -> None:
    store = Arrivals(tmp_path / "store")
    assert store.held() == frozenset()
    data = LARGE.tobytes()
    store.put({digest(data): data})
    assert store.held() == {digest(data)}
    assert store.array(digest(data)) == data
    with pytest.raises(ValueError, match="another digest"):
        store.put({digest(b"x"): data})
    assert store.held() == {digest(data)}, "nothing of it is kept"
    with pytest.raises(Lacking):
        store.array(digest(b"y"))
    old = LibraryPayload((ON_CPU,), "lib.so", digest(b"library"), b"library", ("lib.json", b"{}"))
    assert old.put(store).with_name("lib.json").read_bytes() == b"{}"
    store.prune([digest(b"library")], limit=8)
    assert store.held() == {digest(b"library")}, "what a run uses stays"
    store.prune(limit=0)
    with pytest.raises(Lacking):
        old.without([old.sha256]).put(store)


def test_a_library_has_the_record_of_this_run(tmp_path: Path) -> None:
    """Also where the file is there already, without a record or with another one."""
    store = Arrivals(tmp_path / "store")
    bare = LibraryPayload((ON_CPU,), "lib.so", digest(b"library"), b"library")
    path = bare.put(store)
    record = path.with_name("lib.json")
    for text in (b"{}", b'{"layouts": {}}'):
        assert replace(bare, data=None, record=("lib.json", text)).put(store) == path
        assert record.read_bytes() == text
    assert bare.without([bare.sha256]).put(store) == path
    assert not record.exists()
    assert sorted(one.name for one in path.parent.iterdir()) == ["lib.so"]


def test_what_another_run_prunes_meanwhile_is_lacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Arrivals(tmp_path / "store")
    write = Path.write_bytes

    def pruned(path: Path, data: bytes) -> int:
        written = write(path, data)
        store.prune(limit=0)
        return written

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", pruned)
        with pytest.raises(Lacking):
            store.put({digest(b"x"): b"x"})
    store.put({digest(b"x"): b"x", digest(b"y"): b"y"})
    listed = Path.iterdir

    def removed(path: Path) -> Iterator[Path]:
        for one in [*listed(path)]:
            if one.is_file():
                one.unlink()
            yield one

    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", removed)
        store.prune(limit=0)


def test_the_work_has_zeros_for_the_cases_arrays_alone() -> None:
    own = LARGE + 1
    cases = [SimpleNamespace(inputs=LARGE)]
    payload = WorkPayload.of(replace(work(*cases), only=(own,)))  # type: ignore[arg-type]
    sent = pickle.loads(pickle.dumps(payload.sent()))
    read = sent.read()
    assert list(sent.arrays) == [digest(own.tobytes())]
    assert (read.only[0] == own).all()
    assert not read.plan.cases[0].inputs.any()
    assert not payload.sent(there=payload.own).arrays


def test_who_runs_all_cases_has_their_arrays(tmp_path: Path) -> None:
    """NVIDIA's engines are given the cases' inputs, and compared with their outputs: zeros would prove nothing."""
    whole = WorkPayload.of(work(SimpleNamespace(inputs=LARGE)))
    store = Arrivals(tmp_path)
    store.put(whole.arrays)
    here = worker._RunHere(whole.sent(), store, {})
    engines = Item("engines", "engines", "verdicts", whole=True)
    assert (here.work_for([engines]).plan.cases[0].inputs == LARGE).all()
    assert not here.work_for([replace(engines, whole=False)]).plan.cases[0].inputs.any()


class Client:
    """What is submitted, and nobody executes."""

    def __init__(self) -> None:
        self.sent: list[tuple[object, ...]] = []

    def submit(self, function: object, *arguments: object, **_: object) -> SimpleNamespace:
        self.sent.append((function, *arguments))
        return SimpleNamespace(add_done_callback=lambda _: None, status="pending", cancel=lambda: None)


def submitted(library: Path) -> tuple[_Execution, Client, str]:
    """An execution of three items with one array, on a worker."""
    client = Client()
    fleet = SimpleNamespace(client=client, refresh=lambda: ([], []))
    items = tuple(Item(f"case-{place}", "host", "cases", f"net-{place}", subject=[LARGE]) for place in range(3))
    parts = [EvaluatorPart(SimpleNamespace(NAME="host"), items)]  # type: ignore[arg-type]
    run = _Execution(
        fleet,  # type: ignore[arg-type]
        work(), parts, {ON_CPU: library}, lambda *_: None, {"": KIND},
    )  # fmt: skip
    there = FarmWorker("tcp://there:2", "process", "w0", 1, Facts("h", "any", "3", "0", 1, 1))
    run._there["w0"] = there
    run._dispatcher.joined("w0", [KIND], 1)
    return run, client, "w0"


def test_an_array_and_a_library_travel_once_a_worker(tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(b"library")
    run, client, name = submitted(library)
    first = Batch((0,), KIND)
    run._submit(name, first)
    begin, on = client.sent
    assert begin[3][0].data == b"library"  # type: ignore[index]
    assert list(on[2].arrays.values()) == [LARGE.tobytes()]  # type: ignore[attr-defined]
    # It is on its way, and may be lost: what follows brings it again.
    run._submit(name, Batch((1,), KIND))
    assert client.sent[-1][2].arrays  # type: ignore[attr-defined]
    future = run._futures[name][0]
    run._dispatcher._members[name].given.append(first)
    brought = frozenset(on[2].arrays)  # type: ignore[attr-defined]
    run._take(Ended(name, first, future, worker.Done((Answers(),), 0.1), brought))
    run._submit(name, Batch((2,), KIND))
    assert not client.sent[-1][2].arrays  # type: ignore[attr-defined]
    assert run._there[name].held == {digest(b"library"), *brought}
    assert run._libraries[0].without(run._there[name].held).data is None


def test_what_is_gone_there_is_sent_again(tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(b"library")
    run, client, name = submitted(library)
    run._there[name].held.update({digest(b"library"), digest(LARGE.tobytes())})
    batch = Batch((0,), KIND)
    run._submit(name, batch)
    assert client.sent[0][3][0].data is None  # type: ignore[index]
    assert not client.sent[1][2].arrays  # type: ignore[attr-defined]
    future = run._futures[name][0]
    future.status, future.exception = "error", lambda timeout: Lacking("it")  # type: ignore[misc, method-assign, assignment]
    run._take(Ended(name, batch, future))
    assert client.sent[2][3][0].data == b"library"  # type: ignore[index]
    assert client.sent[3][2].arrays  # type: ignore[attr-defined]
