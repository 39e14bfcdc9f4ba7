"""docs/sharing.md, followed word for word: from a build to NVIDIA's registries on another machine."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from onnx import TensorProto, helper

from pluginkit import cli
from pluginkit.build import gpus
from pluginkit.build.gpus import DriverInfo
from pluginkit.registry.storage import stores
from pluginkit.registry.trust import keys
from pluginkit.runtimes.lean import session as lean
from pluginkit.runtimes.rtx import session as tensorrt_rtx

PAGE = Path(__file__).parents[3] / "docs" / "sharing.md"


def blocks(language: str) -> list[str]:
    """The page's code blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def follow(block: str, place: str) -> None:
    """Run the lines of a block; pluginkit's own in this process."""
    text = block.replace("registry.example.com/team/plugins", place)
    if "pluginkit " in text.splitlines()[0]:
        for line in text.splitlines():
            program, *arguments = shlex.split(line)
            assert program == "pluginkit"
            assert cli.run(arguments) == 0, line
    else:
        subprocess.run(["/bin/sh", "-ec", text], check=True)


def write_key(command: str) -> None:
    """What the page's ssh-keygen does, without a password; where there is none, the same files."""
    path = Path(shlex.split(command)[-1])
    if shutil.which("ssh-keygen"):
        subprocess.run([*shlex.split(command), "-N", ""], check=True)
        return
    key = Ed25519PrivateKey.generate()
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    path.chmod(0o600)
    path.with_suffix(".pub").write_text(f"{keys.written(keys.raw(key))} someone@here\n")


def write_model(path: Path) -> None:
    made = helper.make_node("Scale", ["x"], ["y"], name="scale", domain="acme", plugin_namespace="acme", mode=1)
    x, y = (helper.make_tensor_value_info(one, TensorProto.FLOAT, [2, 3]) for one in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("acme", 1)]
    onnx.save(helper.make_model(helper.make_graph([made], "g", [x], [y]), opset_imports=opsets), path)


@pytest.mark.compile
def test_the_page_is_followed(
    registry: str,
    scale_project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(gpus, "find_driver", DriverInfo)  # what is packed here is for machines without a GPU
    monkeypatch.delenv(stores.VARIABLE, raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME")
    place = f"{registry}/page/plugins"
    pack, make_key, publish, trust, bring, resolve, fetch = blocks("sh")

    def machine(name: str) -> Path:
        """Another home folder, and its own store."""
        home = tmp_path / name
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("XDG_DATA_HOME", str(home / "data"))
        monkeypatch.chdir(home)
        return home

    publisher = machine("publisher")
    monkeypatch.chdir(scale_project)
    follow(
        pack.replace("--cpu-only\n", f"--cpu-only -o {publisher}\n", 1).replace(" scale-", f" {publisher}/scale-"),
        place,
    )
    monkeypatch.chdir(publisher)
    write_key(make_key)
    follow(publish, place)
    user = machine("user")
    write_model(user / "model.onnx")
    assert cli.run(["registry", "pull", f"{place}:scale-1.0.0"]) == 1, "nobody is trusted yet"
    assert "says whose bundles are taken" in capsys.readouterr().err
    shutil.copy(publisher / "acme-plugins.pub", user)
    follow(trust, place)
    follow(bring, place)
    assert "signed by 'Acme's plugin team'" in capsys.readouterr().out
    follow(resolve, place)
    asked = [("tensorrt_lean", str(one.folder or "")) for one in lean.installed()]
    asked += [("tensorrt_rtx", "")] if tensorrt_rtx.probe().found else []
    assert asked or pytest.skip("neither tensorrt-lean nor tensorrt-rtx is installed")
    (load,) = blocks("python")
    for module, folder in asked:
        code = re.sub(r"^import tensorrt_rtx.*$", f"import {module}", load, flags=re.MULTILINE)
        code = f"import sys\nsys.path[:0] = {[folder] if folder else []}\n{code}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert f"loaded into {module}" in done.stdout
    third = machine("third")
    for name in ("model.onnx", "pluginkit.lock"):
        shutil.copy(user / name, third)
    shutil.copytree(user / ".config", third / ".config")
    follow(fetch, place)
