"""From a saved source to the verdict on one case: `pluginkit test --only`, and `--watch`, beside the compiler alone.

python benchmarks/edit_loop.py [ROUNDS]: medians in seconds, for what `pluginkit new` writes. As root `nice -n -20`
before it keeps much of other work out.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pluginkit import scaffold
from pluginkit.build import build, toolchain

PLUGINKIT = [sys.executable, "-m", "pluginkit"]
CASE = ["test", "--target", "cpu", "--only", "plain/float32/opt"]


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        project = scaffold.new("MyPlugin", directory=Path(folder))
        kernel = project / "src" / "my_plugin.cu"
        build(project, "cpu")
        compiler = compile_command(project)
        found: dict[str, list[float]] = {"the compiler alone": [], "test --only": [], "test --only --watch": []}
        watching = subprocess.Popen(
            [*PLUGINKIT, *CASE, "--watch"], cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert watching.stdout is not None
        verdict(watching)
        for number in range(rounds):
            kernel.write_text(f"{kernel.read_text()}// {number}\n")
            found["test --only --watch"].append(timed(lambda: verdict(watching)))
            found["the compiler alone"].append(timed(lambda: run(["sh", "-c", compiler], project)))
        watching.terminate()
        watching.wait()
        run([*PLUGINKIT, *CASE], project)
        for number in range(rounds):
            kernel.write_text(f"{kernel.read_text()}// {number} again\n")
            found["test --only"].append(timed(lambda: run([*PLUGINKIT, *CASE], project)))
            found["the compiler alone"].append(timed(lambda: run(["sh", "-c", compiler], project)))
    alone = statistics.median(found["the compiler alone"])
    for what, seconds in found.items():
        spread = f"{min(seconds):.2f} to {max(seconds):.2f}"
        sys.stdout.write(
            f"{what:20} {statistics.median(seconds):6.2f} s  ({spread})  {statistics.median(seconds) / alone:.2f}\n"
        )


def compile_command(project: Path) -> str:
    """What Ninja runs for the kernel's source."""
    folder = project / "build" / "cpu" / "cmake"
    listed = run([str(toolchain.ninja().best().path), "-C", str(folder), "-t", "commands", "all"], project)
    return next(line for line in listed.splitlines() if "pluginkit.cuda_cpu.compile" in line and "kernel.cu.o" in line)


def verdict(watching: subprocess.Popen[str]) -> None:
    """Waits until a round is over."""
    assert watching.stdout is not None
    for line in watching.stdout:
        if line.startswith("Waiting for a file"):
            return
    raise SystemExit("--watch has ended")


def run(command: list[str], folder: Path) -> str:
    """A program's output; its failure ends the measurement."""
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def timed(what: object) -> float:
    """The seconds that a call takes."""
    begun = time.perf_counter()
    assert callable(what)
    what()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
