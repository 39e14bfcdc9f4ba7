"""Models, locks and engines against stores."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from pluginkit import cli, nvidia_plugins
from pluginkit.cli.store import engine as engine_command
from pluginkit.errors import CheckFailed, UsageError
from pluginkit.importing.engines.loading import Deserialized
from pluginkit.registry import engines, fetching, lock, plans
from pluginkit.registry.bundles import conflicts, digests
from pluginkit.registry.bundles.archive import Content, file_name
from pluginkit.registry.bundles.archive import write as write_archive
from pluginkit.registry.bundles.systems import described
from pluginkit.registry.resolving import Identity, Resolution, Resolver, resolve
from pluginkit.registry.storage import stores
from pluginkit.registry.storage.store import Store
from pluginkit.registry.storage.stores import Stores

from .conftest import Make

SYSTEM = described("tensorrt=10.13,sm=none")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "store") as found:
        yield found


def node(name: str, version: str = "1", namespace: str = "", domain: str = "custom") -> onnx.NodeProto:
    texts = {"plugin_version": version, "plugin_namespace": namespace}
    return helper.make_node(name, ["x"], ["y"], name=f"{name.lower()}_node", domain=domain, **texts)


def model(tmp_path: Path, *nodes: onnx.NodeProto, functions: tuple[onnx.FunctionProto, ...] = ()) -> Path:
    x, y = (helper.make_tensor_value_info(one, TensorProto.FLOAT, [1]) for one in "xy")
    for number, one in enumerate(nodes):
        one.output[:] = [f"y{number}"]
    graph = helper.make_graph(list(nodes), "g", [x], [y])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("custom", 1), helper.make_opsetid("acme", 1)]
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, functions=functions), path)
    return path


def look(path: Path, *found: Store, system: str = "", **more: object) -> Resolution:
    resolver = Resolver(Stores(found), described(system) if system else SYSTEM, **more)  # type: ignore[arg-type]
    return resolve(path, resolver)


def test_who_serves_each_node(store: Store, make: Make, tmp_path: Path) -> None:
    store.add(make(plugins=(("Scale", "1", "acme"), ("Shift", "2", ""))))
    nodes = (
        helper.make_node("Relu", ["x"], ["y"]),
        node("Relu", namespace="none"),
        node("Scale", namespace="acme"),
        node("Scale", domain="acme"),
        node("Shift", version="2"),
        node("Shift", version="1"),
        node("ROIAlign_TRT"),
        node("Unknown"),
    )
    found = look(model(tmp_path, *nodes), store)
    output = [one.by for one in found.nodes]
    assert output == ["native", "native", "bundle", "bundle", "bundle", "missing", "TensorRT's plugins", "missing"]
    assert found.exit_code == CheckFailed.exit_code
    assert len(found.chosen) == 1, "one library, once"
    errors = [problem.text for problem in found.problems if problem.level == "error"]
    assert any("Shift 1 is in no store; there is Shift 2" in one for one in errors)
    assert any("Unknown 1 is in no store" in one for one in errors)
    assert json.loads(json.dumps(found.to_json()))["exit_code"] == 1


def test_nodes_of_subgraphs_and_called_functions(store: Store, make: Make, tmp_path: Path) -> None:
    store.add(make())
    inner = helper.make_graph([node("Scale", namespace="acme")], "b", [], [helper.make_tensor_value_info("y", 1, None)])
    branch = helper.make_node("If", ["x"], ["y"], name="if", then_branch=inner, else_branch=inner)
    body = [node("Scale", namespace="acme")]
    called = helper.make_function("custom", "Called", ["x"], ["y"], body, [helper.make_opsetid("custom", 1)])
    path = model(tmp_path, branch, node("Called"), functions=(called,))
    found = look(path, store)
    assert [one.by for one in found.nodes] == ["native", "bundle", "bundle", "function", "bundle"]
    assert found.exit_code == 0


def test_the_newest_release_that_fits(store: Store, make: Make, tmp_path: Path) -> None:
    for release, hosts in (("1.10", ("tensorrt-11",)), ("1.9", ("tensorrt-10",)), ("1.8", ("tensorrt-10",))):
        store.add(make(release=release, hosts=hosts))
    found = look(model(tmp_path, node("Scale", namespace="acme")), store)
    (chosen,) = found.chosen
    assert chosen.bundle.release == "1.9"
    (answer,) = found.answers.values()
    assert [(one.bundle, "not a library for TensorRT 10.13" in one.reasons[0]) for one in answer.rejected] == [
        ("scale 1.10", True)
    ]
    other = look(model(tmp_path, node("Scale", namespace="acme")), store, system="tensorrt=11.1")
    assert other.chosen[0].bundle.release == "1.10"
    asked = look(model(tmp_path, node("Scale", namespace="acme")), store, release="1.8")
    assert asked.chosen[0].bundle.release == "1.8"


def test_nothing_fits(store: Store, make: Make, tmp_path: Path) -> None:
    store.add(make(floors={}, hosts=("tensorrt-11",)))
    found = look(model(tmp_path, node("Scale", namespace="acme")), store)
    assert found.chosen == ()
    assert "doesn't fit" in found.problems[0].text


def test_clashes(store: Store, make: Make, tmp_path: Path) -> None:
    store.add(make(name="one"))
    other = make(name="two")
    output = list(conflicts.of_bundle(other.bundle, Stores([store])))
    assert [one.level for one in output] == ["warning"]
    assert "acme::Scale 1 is in several bundles: one, two" in output[0].text
    assert list(conflicts.of_bundle(make(name="one", release="2").bundle, Stores([store]))) == []
    store.add(other)
    found = look(model(tmp_path, node("Scale", namespace="acme")), store)
    assert any("several bundles" in one.text for one in found.problems)
    assert found.exit_code == 0
    native = make(name="native", plugins=(("Relu", "1", ""), ("ROIAlign_TRT", "1", ""), ("ROIAlign_TRT", "1", "mine")))
    texts = [one.text for one in conflicts.of_bundle(native.bundle, Stores([store]))]
    assert len(texts) == 2
    assert "ROIAlign_TRT 1 is a plugin of TensorRT's own" in texts[1]
    assert "an operator Relu of its own" in texts[0]
    assert [one.version for one in nvidia_plugins.plugins("ROIAlign_TRT", tensorrt="10.0.1")] == ["1"]
    assert [one.when for one in nvidia_plugins.plugins("Split")] == ["TensorRT 8.5", "TensorRT 10.0 to 10.16"]


def test_a_lock_is_kept(store: Store, make: Make, tmp_path: Path) -> None:
    old = make(release="1.0")
    store.add(old)
    path = model(tmp_path, node("Scale", namespace="acme"))
    written = lock.write(lock.path_for(path), [look(path, store)])
    assert lock.read(lock.path_for(path)) == written
    store.add(make(release="2.0"))
    assert look(path, store).chosen[0].bundle.release == "2.0"
    found = look(path, store, locked=written.allowed())
    assert found.chosen[0].digest == old.digest
    assert "the lock names another bundle" in next(iter(found.answers.values())).rejected[0].reasons
    lock.check(written, list(found.answers), lock.path_for(path))
    again = lock.write(lock.path_for(path), [look(path, store, system="rtx=1.7")])
    assert [one.name for one in again.systems] == ["rtx=1.7,machine=x86_64", SYSTEM.key], "other systems stay"
    with pytest.raises(CheckFailed, match="nothing for"):
        again.system("sm=89")


@pytest.mark.parametrize("other", [False, True])
def test_a_locked_bundle_that_is_not_here(store: Store, make: Make, tmp_path: Path, other: bool) -> None:
    """The lock and the model agree; the cure is to fetch, also where the store has another bundle of the plugin, and
    where the parser would take the node for an operator of its own."""
    plugins = (("Scale", "1", "acme"), ("Shift", "1", ""), ("Relu", "1", "acme"))
    locked = make(plugins=plugins, release="1.0")
    store.add(locked)
    domain = helper.make_node("Shift", ["x"], ["y"], domain="acme")
    path = model(tmp_path, node("Scale", namespace="acme"), domain, node("Relu", namespace="acme"))
    written = lock.write(lock.path_for(path), [look(path, store)])
    with Store.open(tmp_path / "bare") as bare:
        if other:
            bare.add(make(plugins=plugins, release="2.0"))
        found = look(path, bare, locked=written.allowed())
        assert [one.by for one in found.nodes] == ["missing"] * 3
        lock.check(written, list(found.answers), path)
        for one in found.problems:
            assert f"the lock names the bundle {digests.short(locked.digest)}, which is in no store" in one.text
            assert "pluginkit fetch MODEL.onnx --locked --from STORE" in one.fix
        assert len(found.problems) == 3
        bare.add(locked)
        found = look(path, bare, locked=written.allowed())
        assert (found.problems, found.exit_code) == ((), 0)


def test_a_lock_and_a_model_that_no_longer_agree(store: Store, make: Make, tmp_path: Path) -> None:
    store.add(make(plugins=(("Scale", "1", "acme"), ("Shift", "1", "acme"))))
    path = model(tmp_path, node("Scale", namespace="acme"))
    written = lock.write(lock.path_for(path), [look(path, store)])
    changed = look(model(tmp_path, node("Shift", namespace="acme")), store)
    with pytest.raises(CheckFailed, match=r"(?s)wants acme::Shift 1, which is not locked.*Scale 1 is locked"):
        lock.check(written, list(changed.answers), lock.path_for(path))
    with pytest.raises(CheckFailed, match="cannot be locked"):
        lock.write(lock.path_for(path), [look(model(tmp_path, node("Unknown")), store)])
    assert lock.read(lock.path_for(path)) == written, "it was left alone"


@pytest.mark.parametrize(
    "text", ["", "version = 2", "version = 1", "nonsense", "version = 1\nplugins = []\nsystems = 3", "\x00",
             'version = 1\nplugins = []\n[[systems]]\nname = "x"\n[[systems.bundles]]\nbundle = "../x"']
)  # fmt: skip
def test_what_is_no_lock(tmp_path: Path, text: str) -> None:
    (tmp_path / "pluginkit.lock").write_text(text)
    with pytest.raises(UsageError):
        lock.read(tmp_path / "pluginkit.lock")
    with pytest.raises(UsageError, match="There is no"):
        lock.read(tmp_path / "other.lock")


def needed(content: Content) -> tuple[str, str]:
    """A bundle and its library."""
    return content.digest, content.bundle.variants[0].digest


def test_fetching_exactly_what_is_locked(store: Store, make: Make, tmp_path: Path) -> None:
    contents = [make(release="1.0"), make(release="2.0")]
    folder = tmp_path / "archives"
    folder.mkdir()
    for content in contents:
        write_archive(content, folder / file_name(content.bundle))
    (folder / "bad.bundle.tar.gz").write_bytes(b"\x1f\x8bdamaged")
    store.add(contents[1])
    with Store.open(tmp_path / "mine") as mine:
        found = fetching.fetch([needed(one) for one in contents], mine, [store.folder, folder])
        assert [(one.label, bool(one.source)) for one in found] == [("scale 1.0", True), ("scale 2.0", True)]
        assert mine.verify() == []
        assert [one.source for one in fetching.fetch([needed(contents[0])], mine, [])] == [""]
        with pytest.raises(CheckFailed, match="in none of"):
            fetching.fetch([("sha256:" + "0" * 64, "sha256:" + "1" * 64)], mine, [folder])


def record(text: str) -> bytes:
    data = text.encode()
    length = struct.pack("<Q", len(data))
    return b"\x13\x80\x01\x00" + length + b"\x01\x80\x0c\x80\x01\x00" + length + data


def plan(*identities: Identity, layers: int | None = None, records: bool = True) -> bytes:
    """Bytes as they were seen in plans of TensorRT-RTX 1.7.1."""
    count = len(identities) if layers is None else layers
    text = "".join(f'buffer={{ name="layer{number}_pluginType" size=6 offset=0 }}\n' for number in range(count))
    found = b"".join(b"".join(map(record, one)) + b"\x07\x80\x01\x00\x01" for one in identities) if records else b""
    return b"vtrt\0\0" + text.encode() + b"accelerators={sm80 sm89 }\n" + record("other") + found + b"\0" * 9


def test_what_a_plan_says() -> None:
    identities = (("Scale", "1", "acme"), ("Shift", "2", ""))
    assert plans.guess(plan(*identities, identities[0])) == plans.Guess(identities, 3, (80, 89))
    assert plans.guess(plan()) == plans.Guess((), 0, (80, 89))
    assert plans.guess(plan(layers=2)).plugins is None, "there are plugins, and what they are can't be told"
    assert plans.guess(b"") == plans.Guess((), 0, ())


def plan8(*identities: Identity) -> bytes:
    """Bytes as they were seen in a plan of TensorRT 8.5.3.1, built on an H200."""
    header = b"ptrt" + bytes(4) + b"\xe8" + bytes(7) + b"\x7e\x4d" + bytes(6)
    version = b"".join(b"\x02\x80\x01\x00" + bytes([part]) for part in (8, 5, 3, 1))
    found = b""
    for one in identities:
        strings = b"".join(record(text).replace(b"\x13", b"\x18", 1) for text in one)
        found += b"\x07\x80\x01\x00\x37\x21\x00\x03" + strings + b"\x01\x80\x03\x80\x01\x00PKP1"
    return header + version + b"\x01\x12\x80\x01\x00" + found + bytes(9)


def test_what_a_plan_of_8_5_says(store: Store, make: Make, tmp_path: Path) -> None:
    assert plans.guess(plan8(("Leaky", "1", ""))) == plans.Guess((("Leaky", "1", ""),), 0, (), "8.5.3.1")
    assert plans.guess(plan8()).tensorrt == "8.5.3.1"
    assert plans.guess(b"ptrt" + bytes(60)).tensorrt == ""
    engine = tmp_path / "model.plan"
    engine.write_bytes(plan8(("Scale", "1", "acme")))
    store.add(make())
    found = engines.check(engine, Resolver(Stores([store]), SYSTEM))
    assert (found.by, found.exit_code, found.tensorrt) == ("guess", 0, "8.5.3.1")


@pytest.mark.parametrize(
    ("ok", "said"), [(True, "deserializes it: x [4]"), (False, "doesn't deserialize it: no creator")]
)
def test_tensorrt_8_is_asked_for_its_own_engine(
    store: Store,
    make: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ok: bool,
    said: str,
) -> None:
    asked: list[Path] = []

    def answer(engine: Path, libraries: list[tuple[Path, str]]) -> Deserialized:
        asked.append(engine)
        return Deserialized(ok, "8.5.3.1", "x [4]" if ok else "no creator")

    monkeypatch.setattr(engine_command, "deserialize", answer)
    store.add(make())
    engine = tmp_path / "model.plan"
    engine.write_bytes(plan8(("Scale", "1", "acme")))
    words = ["engine", "check", str(engine), "--store", str(store.folder)]
    assert cli.run(words) == int(not ok)
    assert f"TensorRT 8.5.3.1 {said}" in capsys.readouterr().out
    assert cli.run([*words, "--json"]) == int(not ok)
    plain = json.loads(capsys.readouterr().out)
    assert plain["deserialized"]["ok"] is ok
    assert plain["exit_code"] == int(not ok)
    engine.write_bytes(plan(("Scale", "1", "acme")))
    assert cli.run(words) == 0
    assert asked == [engine, engine], "not for an engine of RTX"


@given(st.binary(max_size=300), st.integers(0, 400))
def test_any_bytes_are_looked_into(data: bytes, at: int) -> None:
    whole = plan(("Scale", "1", "acme"))
    plans.guess(whole[:at] + data + whole[at:])
    plans.guess(whole[:at])


def test_an_engines_note(store: Store, make: Make, tmp_path: Path) -> None:
    old = make(release="1.0")
    store.add(old)
    path = model(tmp_path, node("Scale", namespace="acme"))
    engine = tmp_path / "model.plan"
    engine.write_bytes(plan(("Scale", "1", "acme")))
    note = engines.write(engine, look(path, store))
    assert note == engines.read(engine)
    store.add(make(release="2.0"))
    resolver = Resolver(Stores([store]), SYSTEM)
    found = engines.check(engine, resolver)
    assert (found.by, found.exit_code, found.problems) == ("note", 0, ())
    assert found.plugins[0].chosen is not None
    assert found.plugins[0].chosen.digest == old.digest, "the very bundle, not the newest"
    chosen = [one.chosen for one in found.plugins if one.chosen]
    assert [(one.store, one.digest) for one in chosen] == [(str(store.folder), old.digest)]
    store.remove(old.digest)
    found = engines.check(engine, Resolver(Stores([store]), SYSTEM))
    assert found.exit_code == 0
    assert "was scale 1.0 when the engine was built; here is scale 2.0" in found.problems[0].text
    found = engines.check(engine, Resolver(Stores([store]), described("tensorrt=11.1,machine=aarch64")))
    assert found.exit_code == 1
    assert [one.level for one in found.problems] == ["error", "warning"]
    engine.write_bytes(plan(("Scale", "1", "acme")) + b"changed")
    found = engines.check(engine, resolver)
    assert found.by == "guess"
    assert "about another file" in found.problems[0].text


def test_an_engine_without_a_note(store: Store, make: Make, tmp_path: Path) -> None:
    engine = tmp_path / "model.plan"
    engine.write_bytes(plan(("Scale", "1", "acme"), ("ROIAlign_TRT", "2", "")))
    found = engines.check(engine, Resolver(Stores([store]), SYSTEM))
    assert (found.by, found.exit_code) == ("guess", 1)
    assert [one.text for one in found.problems] == ["acme::Scale 1 is in no store."], "TensorRT has the other itself"
    store.add(make())
    assert engines.check(engine, Resolver(Stores([store]), SYSTEM)).exit_code == 0
    engine.write_bytes(plan(layers=1))
    found = engines.check(engine, Resolver(Stores([store]), SYSTEM))
    assert "don't show which" in found.problems[0].text
    with pytest.raises(UsageError):
        engines.check(tmp_path / "none.plan", Resolver(Stores([store]), SYSTEM))


def test_notes_that_cannot_be(store: Store, make: Make, tmp_path: Path) -> None:
    store.add(make())
    engine = tmp_path / "model.plan"
    engine.write_bytes(plan(("Other", "1", "")))
    path = model(tmp_path, node("Scale", namespace="acme"))
    with pytest.raises(CheckFailed, match="built of another model"):
        engines.write(engine, look(path, store))
    with pytest.raises(CheckFailed, match="No bundle implements"):
        engines.write(engine, look(model(tmp_path, node("Unknown")), store))
    for text in ("", "[]", "{}", '{"schema": 3}', '{"schema": 1, "kind": "pluginkit.engine"}'):
        engines.sidecar(engine).write_text(text)
        with pytest.raises(UsageError):
            engines.check(engine, Resolver(Stores([store]), SYSTEM))


def test_a_team_store_before_ones_own(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, release in (("team", "1.0"), ("mine", "2.0")):
        with Store.open(tmp_path / name) as one:
            one.add(make(release=release))
    monkeypatch.setenv(stores.VARIABLE, f"{tmp_path / 'team'}:{tmp_path / 'mine'}")
    with stores.opened() as opened:
        found = resolve(model(tmp_path, node("Scale", namespace="acme")), Resolver(opened, SYSTEM))
    assert (found.chosen[0].store, found.chosen[0].bundle.release) == (str(tmp_path / "mine"), "2.0")
