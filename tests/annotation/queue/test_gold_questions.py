"""Known items: the round before the work, hidden checks in it, and the pause of who fails them."""

from __future__ import annotations

from importlib import import_module
from uuid import uuid4

import pytest
from django.apps import apps

from annotation.models import Annotator, Item, ItemCount, KnownAnswer, Project, Vote
from annotation.queue import (
    gold_questions,
    grading,
    lease_endings,
    leases,
    participants,
    pauses,
    quality_settings,
    votes,
)
from annotation.reports.progress import progress_of
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from tests.cast.basics import sentence
from tests.cast.projects import annotators, answer_item, curator, import_lines, project_with_items
from tests.cast.replay import replayed
from tests.errors import code

pytestmark = pytest.mark.django_db


@pytest.fixture
def checks_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of each block comes after its ordinary items."""
    monkeypatch.setattr(gold_questions, "check_place", lambda annotator, block, every: every)


@replayed
def with_known(use: str, n: int = 2, **quality: object) -> tuple[Project, User]:
    """Three items of work and n whose answer is A."""
    project = project_with_items(3, k=1)
    import_lines(project, [sentence(f"known{at}", relations=["A"]) for at in range(n)], known=use)
    quality_settings.set_quality_options(project, by=curator(), **quality)
    project.refresh_from_db()
    return project, annotators(project, 1)[0]


def answer_next(project: Project, user: User, *relations: str) -> tuple[Item, votes.VoteResult]:
    lease = leases.lease_next(project, user)
    assert lease is not None
    return lease.item, answer_item(lease.item, user, *relations)


def me(project: Project) -> Annotator:
    return Annotator.objects.get(project=project, user__username="ann0")


def test_the_round_comes_first_and_gives_feedback_on_each_choice() -> None:
    project, user = with_known("qualify", qualifies=True)
    item, cast = answer_next(project, user, "B")
    assert item.external_id == "known0"
    assert cast.feedback is not None
    choices = [(choice.choice, choice.chosen, choice.right) for choice in cast.feedback.choices]
    assert (cast.feedback.right, choices) == (False, [("A", False, True), ("B", True, False)])
    assert (cast.feedback.done, cast.feedback.of, cast.feedback.passed) == (1, 2, None)


def test_a_person_who_qualifies_continues_without_feedback() -> None:
    project, user = with_known("qualify", qualifies=True)
    answer_next(project, user, "A")
    assert answer_next(project, user, "A")[1].feedback.passed is True
    item, cast = answer_next(project, user, "A")
    assert (item.external_id, cast.feedback) == ("s0", None)


def test_work_begins_at_once_if_no_answer_ended_the_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two last answers at the same moment neither sees the other."""
    project, user = with_known("qualify", qualifies=True)
    with monkeypatch.context() as at_one_moment:
        at_one_moment.setattr(grading, "judge_round", lambda *_: None)
        for _ in range(2):
            answer_next(project, user, "A")
    assert answer_next(project, user, "A")[0].external_id == "s0"


def test_a_person_who_fails_is_paused_until_a_curator_resumes_them() -> None:
    project, user = with_known("qualify", qualifies=True)
    answer_next(project, user, "A")
    assert answer_next(project, user)[1].feedback.passed is False
    with pytest.raises(NotAllowed, check=code("paused")):
        leases.lease_next(project, user)
    pauses.resume(me(project), by=curator())
    assert answer_next(project, user, "A")[0].external_id == "s0"


def test_a_skip_in_the_round_is_wrong_and_a_second_try_changes_no_mark() -> None:
    project, user = with_known("qualify", n=1, qualifies=True)
    item = leases.lease_next(project, user).item
    votes.skip(item, user, client_id=uuid4(), reason="undecided")
    answer_item(item, user, "A", base=1)
    assert list(me(project).marks.values_list("right", flat=True)) == [False]
    assert me(project).paused_at is not None


def test_a_repeated_request_gets_the_same_feedback() -> None:
    project, user = with_known("qualify", qualifies=True)
    item, name = leases.lease_next(project, user).item, uuid4()
    sent = [votes.answer(item, user, client_id=name, payload={"relations": ["A"]}) for _ in range(2)]
    assert sent[0].feedback == sent[1].feedback
    assert me(project).marks.count() == 1


def test_a_round_is_skipped_unless_the_project_requires_it() -> None:
    project, user = with_known("qualify")
    assert answer_next(project, user, "A")[0].external_id == "s0"
    assert project.items.live().count() == 3


def test_a_round_needs_gold_questions() -> None:
    with pytest.raises(Conflict, check=code("no_known_items")):
        quality_settings.set_quality_options(project_with_items(1), by=curator(), qualifies=True)


def test_curators_get_no_gold_questions() -> None:
    project, _ = with_known("qualify", qualifies=True)
    assert leases.lease_next(project, curator()).item.external_id == "s0"


@pytest.mark.usefixtures("checks_last")
def test_a_hidden_check_comes_at_its_interval_without_feedback() -> None:
    project, user = with_known("check", check_every=1)
    seen = [answer_next(project, user, "A") for _ in range(5)]
    assert [item.use for item, _ in seen] == ["", "check", "", "check", ""]
    assert not any(cast.feedback for _, cast in seen)


@pytest.mark.usefixtures("checks_last")
def test_a_reserve_has_checks_at_the_same_positions_as_single_leases() -> None:
    project, user = with_known("check", n=1, check_every=2)
    held = leases.lease_several(project, user, n=5)
    assert [lease.item.external_id for lease in held] == ["s0", "s1", "known0", "s2"]
    assert me(project).since_check == 1


@pytest.mark.usefixtures("checks_last")
def test_failed_checks_pause_a_person_and_return_their_leases(django_capture_on_commit_callbacks) -> None:
    project, user = with_known("check", check_every=1, least_checks=1)
    answer_next(project, user, "A")
    check = leases.lease_next(project, user)
    held = leases.lease_next(project, user, current_leases=[check.pk])
    with django_capture_on_commit_callbacks(execute=True):
        answer_item(check.item, user, "B")
    held.refresh_from_db()
    assert (me(project).paused_at is not None, held.ending) == (True, "returned")
    with pytest.raises(NotAllowed, check=code("paused")):
        leases.lease_next(project, user)


def test_late_answers_of_a_paused_person_are_stored_but_not_counted() -> None:
    project, user = with_known("check")
    lease = leases.lease_next(project, user)
    pauses.pause(me(project), by=curator())
    answer_item(lease.item, user, "A")
    item = project.items.get(external_id="s0")
    assert (item.state, item.answers.get().set_aside, Vote.objects.count()) == ("open", True, 1)


@pytest.mark.usefixtures("checks_last")
def test_marks_before_a_resumption_no_longer_count() -> None:
    project, user = with_known("check", n=3, check_every=1, least_checks=1)
    answer_next(project, user, "A")
    answer_next(project, user, "B")
    pauses.resume(me(project), by=curator())
    answer_next(project, user, "A")
    answer_next(project, user, "A")
    assert me(project).paused_at is None


@pytest.mark.usefixtures("checks_last")
def test_gold_questions_are_neither_frozen_nor_counted() -> None:
    project, user = with_known("check", check_every=1)
    answer_next(project, user, "A")
    answer_next(project, user, "A")
    assert ItemCount.objects.live(project).by_state() == {
        "open": 2,
        "settled": 1,
        "disputed": 0,
        "adjudicated": 0,
        "unusable": 0,
    }


def test_only_an_untouched_item_becomes_a_gold_question() -> None:
    project, user = with_known("check")
    first, second = project.items.filter(use="")[:2]
    made = quality_settings.make_gold_question(
        first, payload={"relations": ["A"]}, use="qualify", by=curator()
    )
    assert (made.item.use, made.item.free) == ("qualify", 0)
    answer_item(second, user, "A")
    with pytest.raises(Conflict, check=code("already_answered")):
        quality_settings.make_gold_question(second, payload={"relations": ["A"]}, use="check", by=curator())
    with pytest.raises(DomainError, check=code("unknown_use")):
        quality_settings.make_gold_question(second, payload={"relations": ["A"]}, use="other", by=curator())


def test_a_gold_question_needs_an_answer() -> None:
    project = project_with_items(1)
    batch = import_lines(project, [sentence("k0"), sentence("k1", relations=[])], known="check")
    assert (batch.refused, project.items.filter(use="check").count()) == (1, 1)


def test_only_curators_change_quality_options() -> None:
    project, user = with_known("check")
    with pytest.raises(NotAllowed):
        quality_settings.set_quality_options(project, by=user, check_every=3)
    with pytest.raises(NotAllowed):
        pauses.resume(participants.annotator_of(project, user), by=user)
    with pytest.raises(DomainError, check=code("bad_option")):
        quality_settings.set_quality_options(project, by=curator(), pass_percent=101)


# ---- hidden checks look like any other sentence ---------------------------------------------------
def test_hidden_checks_come_at_places_that_differ_by_person_and_block() -> None:
    project, _ = with_known("check", check_every=4)
    for user in annotators(project, 3):
        participants.annotator_of(project, user)
    places = [
        tuple(gold_questions.check_place(annotator, block, 4) for block in range(12))
        for annotator in project.annotators.all()
    ]
    assert len(set(places)) == len(places) == 3
    assert {place for each in places for place in each} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("made", ["imported", "by hand"])
def test_hidden_checks_come_in_a_drawn_order(made: str) -> None:
    """In that of their file, who knew the order of the text named 65 of 80, and by labels 76 of 150."""
    project, user = with_known("check", n=12 * (made == "imported"), check_every=1)
    if made == "by hand":
        import_lines(project, [sentence(f"known{at}") for at in range(12)])
        for item in project.items.filter(external_id__startswith="known"):
            quality_settings.make_gold_question(item, payload={"relations": ["A"]}, use="check", by=curator())
    import_lines(project, [sentence(f"more{at}") for at in range(12)])
    came = [answer_next(project, user, "A")[0] for _ in range(27)]
    checks = [item.external_id for item in came if item.use == "check"]
    assert sorted(checks) == sorted(f"known{at}" for at in range(12))
    assert checks != [f"known{at}" for at in range(12)]
    assert (
        sorted(
            checks,
            key=[*KnownAnswer.objects.order_by("place").values_list("item__external_id", flat=True)].index,
        )
        == checks
    )


def test_the_checks_of_earlier_projects_are_drawn_too() -> None:
    with_known("check", n=12)
    KnownAnswer.objects.update(place=0)
    import_module("annotation.migrations.0036_places_of_checks").draw(apps, None)
    assert len({*KnownAnswer.objects.values_list("place", flat=True)}) == 12


@pytest.mark.parametrize("n", range(25))
def test_the_checks_counted_in_advance_are_those_that_come_or_one_more_or_less_later(n: int) -> None:
    project, user = with_known("check", check_every=3)
    participant = participants.participant_of(project.pk, user)
    participant.annotator.check_block, participant.annotator.since_check = divmod(n, 4)
    expected, came, work = gold_questions.checks_among(participant.annotator, n, 3), 0, n
    while True:
        if not gold_questions.items_before_check(participant):
            came += 1
        elif work:
            work -= 1
        else:
            break
        gold_questions.count_items(participant, 1)
    in_a_later_block = (n + n + came) // 4 > n // 4
    assert abs(came - expected) <= in_a_later_block


def test_the_count_of_checks_does_not_go_by_the_places_of_those_in_later_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Others change it; with the places, whoever watched it would know all checks to come."""
    project, user = with_known("check", check_every=4)
    annotator = participants.participant_of(project.pk, user).annotator
    counted = [gold_questions.checks_among(annotator, n, 4) for n in range(40)]
    place_of = gold_questions.check_place

    def other_place(annotator: Annotator, block: int, every: int, *, salt: str = gold_questions.PLACE) -> int:
        place = place_of(annotator, block, every, salt=salt)
        return every - place if block and salt == gold_questions.PLACE else place

    monkeypatch.setattr(gold_questions, "check_place", other_place)
    assert [gold_questions.checks_among(annotator, n, 4) for n in range(40)] == counted
    assert counted == sorted(counted)


def test_a_check_put_off_comes_back_like_an_ordinary_sentence_and_is_graded_then() -> None:
    project, user = with_known("check", n=1, check_every=1)
    order = []
    while (lease := leases.lease_next(project, user)) and len(order) < 9:
        order.append(lease.item.external_id)
        votes.skip(lease.item, user, client_id=uuid4(), reason="later") if len(order) < 5 else answer_item(
            lease.item, user, "A", base=1
        )
    assert order[4:] == order[:4]  # each comes again in the order in which it was put off
    assert list(me(project).marks.values_list("item__external_id", "right")) == [("known0", True)]


def test_a_check_that_is_given_back_comes_again_at_the_end() -> None:
    project, user = with_known("check", n=1, check_every=1)
    order = []
    while lease := leases.lease_next(project, user):
        order.append(lease.item.external_id)
        if order.count("known0") == 1 and order[-1] == "known0":
            lease_endings.return_lease(lease.pk, user)
        else:
            answer_item(lease.item, user, "A")
    assert (order.count("known0"), order[-1]) == (2, "known0")


@pytest.mark.parametrize("act", ["answer", "later", "broken", "return"])
def test_counts_change_alike_for_work_and_for_checks(act: str) -> None:
    project, user = with_known("check", n=3, check_every=1, least_checks=1_000)
    changes: dict[str, set[tuple[int, ...]]] = {}

    def counts() -> list[int]:
        progress = progress_of(project, user)
        return [progress[name] for name in ("total", "waiting", "answered", "skipped")]

    for _ in range(5):
        before = counts()
        lease = leases.lease_next(project, user)
        assert lease is not None
        leased = counts()
        if act == "answer":
            answer_item(lease.item, user, "A")
        elif act == "return":
            lease_endings.return_lease(lease.pk, user)
        else:
            votes.skip(lease.item, user, client_id=uuid4(), reason=act)
        change = tuple(after - n for n, after in zip(before + leased, leased + counts(), strict=True))
        changes.setdefault(lease.item.use, set()).add(change)
    assert len(changes) == 2
    assert len(changes[""] | changes["check"]) == 1
