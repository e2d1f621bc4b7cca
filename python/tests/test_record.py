"""The page of the record says what its tables say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "reproductions"


def test_the_page_is_what_its_tables_say() -> None:
    subprocess.run([sys.executable, SCRIPTS / "page.py", "--check"], check=True)


@pytest.mark.parametrize("name", ["README.md", "docs/trust.md"])
def test_what_readers_see_first_is_what_the_tables_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from page import RECORD, headline, units  # type: ignore[import-not-found]
    from taught import headline as of_learned  # type: ignore[import-not-found]

    text = " ".join((SCRIPTS.parent / name).read_text(encoding="utf-8").split())
    assert headline(units()) in text and of_learned(RECORD) in text


def test_intervals_are_those_of_clopper_and_pearson(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from intervals import share  # type: ignore[import-not-found]

    # None of n is at most 1 - 0.025^(1/n); the others by scipy.stats.beta.ppf.
    assert share(0, 59) == "0 of 59 = 0.0% [0.0%, 6.1%]"
    assert share(5, 388) == "5 of 388 = 1.3% [0.4%, 3.0%]"
    assert share(10, 10) == "10 of 10 = 100.0% [69.2%, 100.0%]"


def test_equal_values_share_their_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from page import correlation

    assert correlation([1.0, 2.0, 3.0], [10.0, 20.0, 30.0]) == pytest.approx(1.0)
    assert correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0]) == pytest.approx(-1.0)
    # By scipy.stats.spearmanr.
    assert correlation([1.0, 1.0, 2.0, 3.0], [1.0, 2.0, 2.0, 3.0]) == pytest.approx(0.8333333333)
