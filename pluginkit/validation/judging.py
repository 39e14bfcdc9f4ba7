"""What becomes of the answers of checks: each id's result, whichever check has come upon it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pluginkit.adoption.answers import ListedCreator, PluginAnswers
from pluginkit.host import Finding
from pluginkit.process import backtrace, isolated
from pluginkit.validation.catalog import Check, NothingToCheck
from pluginkit.validation.results import CheckResult, Ending
from pluginkit.validation.validation_worker import Answer

MAKES = "F3"
"""Asks for no more than the plugin."""
_ENDINGS = {
    isolated.HUNG: "it did not come back in time",
    isolated.MEMORY: "it took more memory than a check may; `pluginkit check --memory` gives it more, and [checks] in "
    "pluginkit.toml leaves it out",
}


def ending_of(one: Check) -> Ending:
    """How a check ends that has found something."""
    return Ending.WARNING if one.kind == "robustness" else Ending.FAILED


def result_of(one: Check, plugin: str, subject: object) -> CheckResult:
    """The result of a check that is asked in this process, of whatever it is asked of."""
    try:
        one.ask(subject)
    except NothingToCheck as reason:
        return CheckResult(one.id, plugin, Ending.SKIPPED, message=str(reason))
    except Finding as error:
        return CheckResult(one.id, plugin, ending_of(one), error.method, error.observed)
    return CheckResult(one.id, plugin, Ending.PASSED)


def obstacle(one: Check, creator: ListedCreator, answers: PluginAnswers) -> str:
    """Why a check isn't asked of a creator; empty where it is."""
    generations = {creator.kind, {"IPluginV2DynamicExt": "dynamic", "IPluginV2IOExt": "ioext"}.get(answers.base, "")}
    if one.of and not generations & set(one.of):
        return f"only for {' and '.join(one.of)}"
    if one.need == "plugin" and not answers.made:
        why = f" ({'; '.join(answers.problems)})" if answers.problems else ""
        return f"no plugin could be made of guessed fields{why}: --model MODEL.onnx gives values"
    return ""


def results_of(
    asked: Sequence[Check], creator: ListedCreator, answers: PluginAnswers, found: Sequence[Answer]
) -> Iterator[CheckResult]:
    """The results of the checks of a creator.

    What one check comes upon may be another one's: each id gets what any of them has shown about it.
    """
    plugin = creator.label
    by_check = {one.check: one for one in found}
    shown = _shown(found)
    crashes: dict[tuple[str, str], str] = {}
    # One crash is one finding, of a check that gives the plugin nothing unusual where there is one; of what makes the
    # plugin, where that is what ends.
    for one in sorted(asked, key=lambda check: (check.provokes, check.id != MAKES)):
        if (ended := by_check.get(one.id)) and ended.ending:
            crashes.setdefault((ended.ending, ended.method), one.id)
    for one in asked:
        answer = by_check.get(one.id)
        if one.id in shown:
            yield CheckResult(one.id, plugin, ending_of(one), *shown[one.id])
        elif answer is None:
            yield CheckResult(one.id, plugin, Ending.SKIPPED, message=obstacle(one, creator, answers))
        elif answer.ending:
            yield _crashed(one, plugin, answer, crashes[answer.ending, answer.method])
        elif answer.skipped:
            yield CheckResult(one.id, plugin, Ending.SKIPPED, message=answer.skipped)
        elif answer.finding:
            rule, method, message, _ = answer.finding
            where = f"{method}: " if method else ""
            yield CheckResult(one.id, plugin, Ending.SKIPPED, method, f"not reached ({rule}): {where}{message}")
        else:
            yield CheckResult(one.id, plugin, Ending.PASSED)


def _shown(found: Sequence[Answer]) -> dict[str, tuple[str, str]]:
    """By id what was found of it first: the method and the message."""
    shown: dict[str, tuple[str, str]] = {}
    for answer in found:
        if answer.finding:
            rule, method, message, hint = answer.finding
            shown.setdefault(rule, (method, f"{message}\n{hint}" if hint else message))
        for warning in answer.warnings:
            shown.setdefault(warning.rule, (warning.method, warning.message))
    return shown


def _crashed(one: Check, plugin: str, answer: Answer, first: str) -> CheckResult:
    """A check that ended its process; `first` is the one that did so first in the same call."""
    text = _ENDINGS.get(answer.ending, f"the process ended with {answer.ending}")
    if first != one.id:
        message = f"{answer.method}: {text}, as in {first}" if answer.method else f"{text}, as in {first}"
        return CheckResult(one.id, plugin, Ending.SKIPPED, answer.method, message)
    ending = Ending.WARNING if one.provokes else Ending.CRASHED
    text += f", given {answer.attempt}" if answer.attempt else ""
    text += f": it {answer.beyond}" if answer.beyond else ""
    return CheckResult(one.id, plugin, ending, answer.method, text, backtrace.describe(answer.frames))
