"""What a farm costs, and whether it loses anything, with cases that only sleep. From the repository's root:

python -m benchmarks.farm.bench overhead [--workers 4] [--cases 1000] [--batch 20]
python -m benchmarks.farm.bench kills [--workers 8] [--plugins 50] [--cases 1000] [--killed 3]
python -m benchmarks.farm.bench fleet [--workers 1000] [--processes N] [--seconds 10] [--batches 3]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
import psutil

from pluginkit.evaluators.protocol import Answers, Item, RunWork
from pluginkit.farm import open_fleet
from pluginkit.farm.executor import FarmExecutor
from pluginkit.farm.fleet import Fleet
from pluginkit.manifest import Manifest
from pluginkit.network.plan import Plan
from pluginkit.run.items import EvaluatorPart
from pluginkit.testing.report import Outcome
from tests.farm import sleeping_evaluator
from tests.farm.cluster import Cluster, cluster

ROOT = Path(__file__).parents[2]
WORK = RunWork(Manifest.load(ROOT / "samples" / "bar_plugin"), ROOT, Plan((), (), 0), Plan((), (), 0))
PRELOAD = ("--preload", "tests.farm.sleeping_evaluator")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["overhead", "kills", "fleet"])
    parser.add_argument("--workers", type=int)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--plugins", type=int, default=50)
    parser.add_argument("--killed", type=int, default=3)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    click.echo(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    {"overhead": overhead, "kills": kills, "fleet": simulated_fleet}[asked.what](asked)


def overhead(asked: argparse.Namespace) -> None:
    """Cases that take no time: all of it is the farm's."""
    with workers(asked.workers or 4) as (made, fleet):
        wall, scheduler, client = timed(made, fleet, cases([0.0] * asked.cases, asked.batch))
    click.echo(
        f"{asked.cases} cases in batches of {asked.batch} on {len(made.workers)} workers: "
        f"{wall / asked.cases * 1e3:.2f} ms a case; CPU of the scheduler {scheduler / asked.cases * 1e3:.2f} ms, "
        f"of the client {client / asked.cases * 1e3:.2f} ms"
    )


def kills(asked: argparse.Namespace) -> None:
    """Runs, and workers that are killed at random times: each case is recorded once, none is blamed."""
    draw = random.Random(asked.seed)
    when = sorted(draw.uniform(0, asked.plugins) for _ in range(asked.killed))
    killed = 0
    with workers(asked.workers or 8) as (_, fleet):
        began = time.monotonic()
        for plugin in range(asked.plugins):
            timers = []
            for moment in (one for one in when if int(one) == plugin):
                victim = draw.choice(list(fleet.client.run(os.getpid).values()))
                timers.append(threading.Timer((moment - plugin) * 2, os.kill, (victim, signal.SIGKILL)))
            for one in timers:
                one.start()
            asked_of = cases([0.002] * asked.cases, asked.batch)
            found = execute(fleet, asked_of)
            for one in timers:
                one.join()
                killed += 1
            bad = [item.id for item, answers in found.items() if answers.results[0].outcome is not Outcome.PASSED]
            if list(found) != list(asked_of) or bad or any(len(answers.results) != 1 for answers in found.values()):
                sys.exit(f"plugin {plugin}: {len(found)} of {asked.cases} cases recorded, blamed: {bad[:10]}")
    click.echo(
        f"{asked.plugins} plugins x {asked.cases} cases, {killed} workers killed: every case recorded once, none "
        f"blamed; {time.monotonic() - began:.0f} s"
    )


def simulated_fleet(asked: argparse.Namespace) -> None:
    """Workers whose batches sleep: how busy a scheduler and a client keep them."""
    count = asked.workers or 1000
    with cluster(Path(tempfile.mkdtemp())) as made, open_fleet(made.address) as fleet:
        share = [count // asked.processes + (place < count % asked.processes) for place in range(asked.processes)]
        command = [sys.executable, "-m", "benchmarks.farm.simulated", made.address]
        processes = [subprocess.Popen([*command, str(part)], cwd=ROOT) for part in share]
        try:
            began = time.monotonic()
            wait_for(fleet, count, 240)
            click.echo(f"{count} workers in {asked.processes} processes there after {time.monotonic() - began:.0f} s")
            subjects = [asked.seconds] * (count * asked.batches)
            wall, scheduler, own = timed(made, fleet, cases(subjects, 1))
        finally:
            for one in processes:
                one.kill()
    busy = asked.seconds * asked.batches / wall
    click.echo(
        f"{count * asked.batches} batches of {asked.seconds:g} s on {count} workers: {busy:.0%} busy in {wall:.1f} s; "
        f"CPU of the scheduler {scheduler / wall:.0%} of a core, {scheduler / len(subjects) * 1e3:.2f} ms a batch; "
        f"of the client {own / wall:.0%}, {own / len(subjects) * 1e3:.2f} ms a batch"
    )


@contextmanager
def workers(count: int) -> Iterator[tuple[Cluster, Fleet]]:
    """A cluster of so many processes, all there."""
    with cluster(Path(tempfile.mkdtemp())) as made:
        for _ in range(count):
            made.add(*PRELOAD)
        with open_fleet(made.address) as fleet:
            wait_for(fleet, count, 120)
            yield made, fleet


def wait_for(fleet: Fleet, count: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while len(fleet.ready) < count:
        if time.monotonic() > deadline:
            sys.exit(f"{len(fleet.ready)} of {count} workers came within {seconds:g} s")
        time.sleep(0.5)
        fleet.refresh()


def cases(subjects: Sequence[float], batch: int) -> tuple[Item, ...]:
    return tuple(
        Item(f"case-{place}", sleeping_evaluator.NAME, "verdicts", f"network-{place // batch}", subject=subject)
        for place, subject in enumerate(subjects)
    )


def execute(fleet: Fleet, items: Sequence[Item]) -> dict[Item, Answers]:
    parts = [EvaluatorPart(sleeping_evaluator.EVALUATOR, tuple(items))]
    return FarmExecutor(fleet).execute(WORK, parts, {}, lambda *_: None)


def timed(made: Cluster, fleet: Fleet, items: Sequence[Item]) -> tuple[float, float, float]:
    """Seconds, and CPU seconds of the scheduler and of this process."""
    scheduler = psutil.Process(made._scheduler.pid)

    def spent() -> float:
        return sum(scheduler.cpu_times()[:2])

    before, own, began = spent(), time.process_time(), time.monotonic()
    execute(fleet, items)
    return time.monotonic() - began, spent() - before, time.process_time() - own


if __name__ == "__main__":
    main()
