"""What one setting hides is not shown through another set that may share lines with its gold."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.releases import folder, publishing
from annotation.testset import Companion, TestSet, count_hiding, release
from annotation.testset_overlap import overlapping
from evalsvc.core.accounts.models import User
from evalsvc.evaluation.benchmarks import creation, rules
from evalsvc.evaluation.comparison import display_effect
from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.models import Setting, SettingVersion
from tests.cast.benchmarks import BenchmarkCast, freeze
from tests.evalsvc.evaluation.disclosure.phase import (
    gold_labels,
    gold_lines,
    hidden_phase,
    labels_file,
    setting_of,
)
from workers.runner import run_next

pytestmark = pytest.mark.django_db
GOLD = gold_labels(40)
HOUR, MOMENT = timedelta(hours=1), timedelta(milliseconds=1)
HIDES = "Another setting hides this gold, or gold that may share lines with it."


def part_of(whole: TestSet, name: str, cast: BenchmarkCast, *, seed: str = "s") -> TestSet:
    """A part, as a split makes it."""
    ids = {"a": list(GOLD)[::2], "b": list(GOLD)[1::2], "c": list(GOLD)[20:]}[name]
    lines = gold_lines({each: GOLD[each] for each in ids})
    plan = {"of": whole.slug, "seed": seed, "shares": {"a": 0.5, "b": 0.5}, "part": name}
    return freeze(f"part-{name}", lines, by=cast.olga, split=plan)


def sets_of(cast: BenchmarkCast) -> dict[str, TestSet]:
    """The whole of a hidden part; parts of the same split and of another; and a mapped set of the whole."""
    whole = freeze("whole", gold_lines(GOLD), by=cast.olga)
    plan = {"of": [{"slug": whole.slug}], "names": {}}
    mapped = freeze("mapped", gold_lines(GOLD | {"s0": "N/A"}), by=cast.olga, mapped=plan)
    parts = {name: part_of(whole, name, cast) for name in "ab"}
    return parts | {"c": part_of(whole, "c", cast, seed="t"), "whole": whole, "mapped": mapped}


def add(cast: BenchmarkCast, slug: str, test_set: TestSet, **fields: Any) -> Setting:
    benchmark = cast.benchmark(slug)
    values = {"key": "main", "title": slug, "unit": "sentence", "main": "accuracy", "phase": "test"} | fields
    return creation.add_setting(benchmark, test_set=test_set, by=cast.olga, **values)


def run(cast: BenchmarkCast, setting: Setting) -> None:
    ids = setting.test_set.lines.values_list("external_id", flat=True)
    cast.submit(setting.benchmark, labels_file(dict.fromkeys(ids, "N/A")))
    while run_next("score"):
        pass


def errors(client: Client, setting: Setting) -> str:
    page = client.get(reverse("board-errors", args=[setting.benchmark.slug]))
    assert page.status_code == 200
    return page.content.decode()


def digest_shown(client: Client, setting: Setting) -> bool:
    address = reverse("api-benchmark", args=[setting.benchmark.slug])
    shown: Mapping[str, Any] = client.get(address).json()["settings"][0]
    assert bool(shown["gold_sha256"]) == bool(shown["gold_salt"])
    return bool(shown["gold_sha256"])


@pytest.mark.parametrize(
    ("name", "shares"), [("a", True), ("whole", True), ("c", True), ("mapped", True), ("b", False)]
)
def test_an_open_setting_shows_no_errors_and_no_digest_of_gold_that_may_share_lines_with_hidden_gold(
    client: Client, cast: BenchmarkCast, name: str, shares: bool
) -> None:
    """A part was hidden, and the errors under the whole showed each line of it."""
    sets = sets_of(cast)
    shown = add(cast, "shown", sets[name], disclosure="open")
    run(cast, shown)
    client.force_login(cast.kim)
    assert HIDES not in errors(client, shown)
    hiding = add(cast, "hiding", sets["a"], disclosure="hidden")
    assert (HIDES in errors(client, shown), digest_shown(client, shown)) == (shares, not shares)
    client.force_login(cast.olga)  # organises it
    assert HIDES not in errors(client, shown)
    client.force_login(cast.kim)
    Setting.objects.filter(pk=hiding.pk).update(disclosure="open")
    assert HIDES not in errors(client, shown)
    assert digest_shown(client, shown)


@pytest.mark.parametrize(
    ("name", "shares"), [("a", True), ("whole", True), ("c", True), ("mapped", True), ("b", False)]
)
def test_training_counts_are_not_shown_while_a_setting_hides_lines_of_the_training_set(
    client: Client, cast: BenchmarkCast, name: str, shares: bool
) -> None:
    """Visitors of a board read how many labels the hidden gold beside its test set has."""
    sets = sets_of(cast)
    shown = add(cast, "shown", freeze("test", gold_lines(GOLD), by=cast.olga), disclosure="open")
    run(cast, shown)
    TestSet.objects.filter(pk=sets[name].pk).update(statistics={"labels": {"born_in": 1204789}})
    Companion.objects.create(test_set=shown.test_set, data=sets[name], role="training", by=cast.olga)
    rules.change(shown.benchmark, by=cast.olga, training_set=sets[name].slug)
    addresses = [reverse(view, args=["shown"]) for view in ("board", "board-organise", "api-benchmark")]
    addresses.append(reverse("submission", args=[shown.benchmark.submissions.get().pk]))
    client.force_login(cast.olga)
    for address in addresses:
        text = client.get(address).content.decode().replace(",", "")
        assert ("1204789" in text, "while a phase hides lines" in text) == (True, False), address
    hiding = add(cast, "hiding", sets["a"], disclosure="hidden")
    for address in addresses:
        assert ("1204789" in client.get(address).content.decode().replace(",", "")) != shares, address
    assert ("are not shown while a phase hides" in client.get(addresses[0]).content.decode()) == shares
    assert ("not shown while a phase hides" in client.get(addresses[1]).content.decode()) == shares
    assert sets[name].slug in client.get(reverse("board-log", args=["shown"])).content.decode()
    assert "1204789" not in client.get(reverse("board-log", args=["shown"])).content.decode()
    Setting.objects.filter(pk=hiding.pk).update(disclosure="open")
    assert "1,204,789" in client.get(addresses[0]).content.decode()


def test_counts_of_a_set_beside_another_are_for_those_who_see_it_while_a_setting_hides_lines_of_it(
    client: Client, cast: BenchmarkCast
) -> None:
    """Visitors read them on the card of the published set, and others whom that set alone was released to."""
    sets, test = sets_of(cast), freeze("test", gold_lines(GOLD | {"s1": "N/A"}), by=cast.olga)
    for each, facts in ((sets["whole"], 1204), (test, 39)):
        each.statistics = {"labels": {"born_in": facts}, "facts": facts, "sentences": 40}
        each.save()
    counted = {"key": "facts", "train": 1204, "test": 40, "shared": 0, "items": 0}
    companion = Companion(test_set=test, data=sets["whole"], role="training", shared=[counted], by=cast.olga)
    companion.save()
    source = freeze("source", gold_lines(GOLD | {"s2": "N/A"}), by=cast.olga, origin="source")
    TestSet.objects.filter(pk=source.pk).update(twin=test, statistics={"facts": 1305})
    cast.lars.may_organise = True
    cast.lars.save()
    release(test, username="lars", by=cast.olga)
    publishing.publish(test, access="anybody", with_gold=True, by=cast.olga)
    hiding = add(cast, "hiding", sets["b"], disclosure="open")
    addresses = [reverse(view, args=["test"]) for view in ("test-set-companions", "api-test-set-companions")]
    addresses.append(reverse("test-set-sets-file", args=["test", "csv"]))

    def shown_to(person: User, figure: str) -> list[bool]:
        client.force_login(person)
        return [figure in client.get(address).content.decode().replace(",", "") for address in addresses]

    def on_card(figure: str) -> bool:
        card = next(file for file in folder.files(test) if file.name == "README.md")
        return figure in b"".join(card.parts()).decode()

    assert shown_to(cast.lars, "1204") == [True] * 3
    assert (on_card("| whole | 1 | 1,204 |"), on_card("| 1,305 |")) == (True, True)
    Setting.objects.filter(pk=hiding.pk).update(disclosure="hidden")
    add(cast, "of-source", source, disclosure="hidden")
    for figure in ("1204", "1305"):
        assert shown_to(cast.lars, figure) == [False] * 3
        assert shown_to(cast.olga, figure) == [True] * 3
    assert (on_card("| whole |"), on_card("| 1,305 |")) == (False, False)
    assert on_card("Without 2 sets whose figures are hidden.")


@pytest.mark.parametrize(("closed", "hidden"), [("after", True), ("before", False)])
def test_a_closed_phase_stays_hidden_for_gold_that_may_share_lines_and_was_in_use_before_it_closed(
    client: Client, cast: BenchmarkCast, closed: str, hidden: bool
) -> None:
    """Its gold is public since: nobody closes it again by a set of which it is a part."""
    sets = sets_of(cast)
    phase = add(cast, "phase", sets["a"], disclosure="hidden")
    run(cast, phase)
    add(cast, "hiding", sets["whole"], disclosure="hidden")
    began = SettingVersion.objects.get(setting__benchmark__slug="hiding").created_at
    closes_at = began + MOMENT if closed == "after" else began - MOMENT
    SettingVersion.objects.filter(setting=phase).update(created_at=began - HOUR)
    Setting.objects.filter(pk=phase.pk).update(closes_at=closes_at)
    phase.refresh_from_db()
    time.sleep(0.002)
    client.force_login(cast.kim)
    shows_errors = "Nothing can be shown" not in errors(client, phase)
    assert (is_hidden(phase), shows_errors, digest_shown(client, phase)) == (hidden, not hidden, not hidden)


@pytest.mark.parametrize("disclosure", ["hidden", "open"])
@pytest.mark.parametrize("name", ["whole", "copy"])
def test_a_closing_date_in_the_past_opens_no_gold_that_another_setting_hid_before_the_date_was_set(
    client: Client, cast: BenchmarkCast, name: str, disclosure: str
) -> None:
    """The date was moved to a day before the other began to hide it: errors showed teams every label."""
    whole, yesterday = freeze("whole", gold_lines(GOLD), by=cast.olga), timezone.now() - 24 * HOUR
    own = part_of(whole, "a", cast) if name == "whole" else freeze("copy", gold_lines(GOLD), by=cast.olga)
    phase = add(cast, "phase", own, disclosure=disclosure, closes_at=timezone.now() + HOUR)
    run(cast, phase)
    SettingVersion.objects.filter(setting=phase).update(created_at=yesterday - HOUR)
    time.sleep(0.002)
    add(cast, "hiding", whole, disclosure="hidden")
    time.sleep(0.002)
    client.force_login(cast.kim)

    def closed() -> tuple[bool, bool, bool]:
        phase.refresh_from_db()
        shows_errors = "Nothing can be shown" not in (page := errors(client, phase)) and HIDES not in page
        return is_hidden(phase), shows_errors, digest_shown(client, phase)

    held_back = (disclosure == "hidden", False, False)
    shown = display_effect.of_change(phase, by=cast.olga, closes_at=yesterday).after
    assert (shown.state, "errors" in shown.words, shown.digest) == ("closed", False, False)
    for closes_at in (yesterday, None, yesterday, yesterday - MOMENT):  # also again, and once it has closed
        creation.change_setting(phase, by=cast.olga, closes_at=closes_at)
        assert closed() == held_back, closes_at


def test_gold_that_was_open_before_another_setting_hid_it_stays_open_when_its_closing_date_is_corrected(
    client: Client, cast: BenchmarkCast
) -> None:
    """Whatever day of its past is named: anybody may have it since."""
    phase, now = add(cast, "phase", freeze("own", gold_lines(GOLD), by=cast.olga)), timezone.now()
    SettingVersion.objects.filter(setting=phase).update(created_at=now - 48 * HOUR)
    Setting.objects.filter(pk=phase.pk).update(closes_at=now - HOUR)
    add(cast, "hiding", freeze("copy", gold_lines(GOLD), by=cast.olga))
    phase.refresh_from_db()
    client.force_login(cast.kim)
    assert not is_hidden(phase)
    for closes_at in (now - 24 * HOUR, now - 2 * HOUR):
        creation.change_setting(phase, by=cast.olga, closes_at=closes_at)
        assert (is_hidden(phase), digest_shown(client, phase)) == (False, True)


def test_organisers_are_told_that_exact_figures_give_away_what_another_setting_hides(
    client: Client, cast: BenchmarkCast
) -> None:
    sets = sets_of(cast)
    add(cast, "hiding", sets["a"], disclosure="hidden")
    shown = add(cast, "shown", sets["whole"], disclosure="hidden")
    client.force_login(cast.olga)
    page = reverse("board-organise", args=["shown"])
    warning = "Another setting hides gold of which “shown” shows figures."
    assert warning not in client.get(page).content.decode()
    effect = display_effect.of_change(shown, by=cast.olga, disclosure="open")
    assert effect.hiding == 1
    assert "1 other setting hides gold of these lines, which exact figures give away." in str(effect)
    assert "all figures and counts" in effect.after.words
    assert "errors" not in effect.after.words
    creation.change_setting(shown, by=cast.olga, disclosure="open")
    assert warning in client.get(page).content.decode()


def test_the_release_form_counts_phases_that_hide_a_part_of_the_gold(cast: BenchmarkCast) -> None:
    sets = sets_of(cast)
    add(cast, "hiding", sets["a"], disclosure="hidden")
    counts = {name: count_hiding(*overlapping([each])) for name, each in sets.items()}
    assert counts == {"a": 1, "whole": 1, "c": 1, "mapped": 1, "b": 0}


def test_sets_of_one_origin_cost_no_query_each(cast: BenchmarkCast) -> None:
    """Many closed phases are compared with many that hide gold."""
    closed = setting_of(hidden_phase(cast, GOLD, closes_at=timezone.now() + HOUR))
    counts, sets = [], sets_of(cast)
    for n in range(2):
        for name in ("a", "b", "c"):
            add(cast, f"hiding-{name}-{n}", sets[name], disclosure="hidden")
        Setting.objects.filter(pk=closed.pk).update(closes_at=timezone.now() - MOMENT)
        closed.refresh_from_db()
        with CaptureQueriesContext(connection) as captured:
            assert not is_hidden(closed)
        counts.append(len(captured))
    assert counts == [3, 3]
