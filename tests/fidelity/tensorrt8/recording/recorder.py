"""Records what TensorRT 8.5 does with cases: many workers at once, a time limit each, answers written as they come.

Runs in the Python that has TensorRT 8.5, as its workers do; the cases were drawn elsewhere, and lie in a file.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import queue
import select
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[4]
LENGTH = struct.Struct("<Q")
LIMIT = 45.0
"""Seconds of a case."""
AT_FIRST = 120.0
"""Seconds of a worker's first one, which loads TensorRT."""
EACH = 200
"""Cases of a worker, before another one takes its place."""


class WorkerProcess:
    """A worker; a new one is started when it has died."""

    def __init__(self, library: str) -> None:
        self._library = library
        self._process: subprocess.Popen[bytes] | None = None
        self._noise: Any = None
        self._served = 0

    def ask(self, digest: str, case: Any) -> dict[str, Any]:
        """The answer to a case; of a worker that has died or is late, that."""
        if self._process is None or self._served >= EACH:
            self.close()
            self._start()
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        limit = LIMIT if self._served else AT_FIRST
        self._served += 1
        content = pickle.dumps(case, protocol=4)
        begun = time.monotonic()
        line = b""
        try:
            process.stdin.write(LENGTH.pack(len(content)) + content)
            process.stdin.flush()
            while not line.endswith(b"\n"):
                left = begun + limit - time.monotonic()
                if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                    self._end()
                    return {"id": case.id, "digest": digest, "verdict": "hung", "message": f"{limit:.0f} s"}
                part = os.read(process.stdout.fileno(), 1 << 20)
                if not part:
                    break
                line += part
        except BrokenPipeError:
            line = b""
        if line.endswith(b"\n"):
            answer = json.loads(line)
            return {**answer, "digest": digest, "seconds": round(time.monotonic() - begun, 2)}
        code = process.wait()
        said = self._said()
        self._end()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return {"id": case.id, "digest": digest, "verdict": "crashed", "message": f"{how}: {said}"}

    def _start(self) -> None:
        self._noise = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        command = [sys.executable, "-m", f"{__package__}.trt_worker", self._library]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._noise
        )
        self._served = 0

    def _said(self) -> str:
        self._noise.seek(0)
        text: str = self._noise.read().decode(errors="replace")
        return text[-300:]

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = None

    def close(self) -> None:
        """Ends the worker."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process = None


def main() -> int:
    """The command line; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fidelity.tensorrt8.recording.recorder", description=__doc__)
    parser.add_argument("cases", type=Path, help="written by `draw`")
    parser.add_argument("--library", required=True, help="the chameleons, built for the GPU")
    parser.add_argument("--out", type=Path, required=True, help="a line of JSON an answer")
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--first", type=int, default=0, help="so many cases; 0: all")
    parser.add_argument("--seconds", type=float, default=3600, help="no case begins after that")
    parser.add_argument("--show", action="store_true", help="print each answer")
    given = parser.parse_args()
    # The cases' own module: nothing of pluginkit is needed to hand them on but its classes.
    listed = pickle.loads(given.cases.read_bytes())
    listed = listed[: given.first] if given.first else listed
    waiting: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    for one in listed:
        waiting.put(one)
    begun, counts, lock = time.monotonic(), {"done": 0}, threading.Lock()
    with given.out.open("a", encoding="utf-8") as file:

        def serve() -> None:
            worker = WorkerProcess(given.library)
            while time.monotonic() - begun < given.seconds:
                try:
                    digest, case = waiting.get_nowait()
                except queue.Empty:
                    break
                answer = worker.ask(digest, case)
                with lock:
                    file.write(json.dumps(answer) + "\n")
                    file.flush()
                    counts["done"] += 1
                    counts[answer["verdict"]] = counts.get(answer["verdict"], 0) + 1
                    if given.show:
                        print(json.dumps(answer)[:1200], flush=True)
                    if counts["done"] % 50 == 0:
                        print(f"{time.monotonic() - begun:.0f} s: {counts}", flush=True)
            worker.close()

        threads = [threading.Thread(target=serve) for _ in range(given.jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(f"{time.monotonic() - begun:.0f} s: {counts} of {len(listed)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
