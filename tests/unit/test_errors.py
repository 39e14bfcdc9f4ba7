from __future__ import annotations

import pickle

from pluginkit import errors


def test_exit_codes_are_unique_and_documented() -> None:
    kinds = errors.PluginkitError.__subclasses__()
    codes = [kind.exit_code for kind in kinds if kind.__module__ == "pluginkit.errors"]
    assert sorted(codes) == [1, 2, 3, 4, 5, 6]
    for code in codes:
        assert f"{code} " in str(errors.__doc__)


def test_an_error_crosses_between_processes_whole() -> None:
    error = errors.UsageError("what", hint="do this")
    error.extra = 3  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is errors.UsageError
    assert (again.message, again.hint, again.extra) == ("what", "do this", 3)
    assert str(again) == "what\ndo this"
