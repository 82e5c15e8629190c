"""Known items: the round before the work, hidden checks in it, and the pause of who fails them."""

from __future__ import annotations

from uuid import uuid4

import pytest

from annotation.freezing import builder
from annotation.models import Annotator, Item, Project, Vote
from annotation.queue import assignment, gold_questions, participants, votes
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from tests.cast.basics import sentence
from tests.cast.projects import annotators, answer_item, curator, import_lines, project_with_items
from tests.errors import code

pytestmark = pytest.mark.django_db


def with_known(use: str, n: int = 2, **quality: object) -> tuple[Project, User]:
    """Three items of work and n whose answer is A."""
    project = project_with_items(3, k=1)
    import_lines(project, [sentence(f"known{at}", relations=["A"]) for at in range(n)], known=use)
    gold_questions.set_quality_options(project, by=curator(), **quality)
    project.refresh_from_db()
    return project, annotators(project, 1)[0]


def answer_next(project: Project, user: User, *relations: str) -> tuple[Item, votes.VoteResult]:
    lease = assignment.lease_next(project, user)
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


def test_a_person_who_fails_is_paused_until_a_curator_resumes_them() -> None:
    project, user = with_known("qualify", qualifies=True)
    answer_next(project, user, "A")
    assert answer_next(project, user)[1].feedback.passed is False
    with pytest.raises(NotAllowed, check=code("paused")):
        assignment.lease_next(project, user)
    gold_questions.resume(me(project), by=curator())
    assert answer_next(project, user, "A")[0].external_id == "s0"


def test_a_skip_in_the_round_is_wrong_and_a_second_try_changes_no_mark() -> None:
    project, user = with_known("qualify", n=1, qualifies=True)
    item = assignment.lease_next(project, user).item
    votes.skip(item, user, client_id=uuid4(), reason="undecided")
    answer_item(item, user, "A", base=1)
    assert list(me(project).marks.values_list("right", flat=True)) == [False]
    assert me(project).paused_at is not None


def test_a_repeated_request_gets_the_same_feedback() -> None:
    project, user = with_known("qualify", qualifies=True)
    item, name = assignment.lease_next(project, user).item, uuid4()
    sent = [votes.answer(item, user, client_id=name, payload={"relations": ["A"]}) for _ in range(2)]
    assert sent[0].feedback == sent[1].feedback
    assert me(project).marks.count() == 1


def test_a_round_is_skipped_unless_the_project_requires_it() -> None:
    project, user = with_known("qualify")
    assert answer_next(project, user, "A")[0].external_id == "s0"
    assert project.items.live().count() == 3


def test_a_round_needs_gold_questions() -> None:
    with pytest.raises(Conflict, check=code("no_known_items")):
        gold_questions.set_quality_options(project_with_items(1), by=curator(), qualifies=True)


def test_curators_get_no_gold_questions() -> None:
    project, _ = with_known("qualify", qualifies=True)
    assert assignment.lease_next(project, curator()).item.external_id == "s0"


def test_a_hidden_check_comes_at_its_interval_without_feedback() -> None:
    project, user = with_known("check", check_every=1)
    seen = [answer_next(project, user, "A") for _ in range(5)]
    assert [item.external_id for item, _ in seen] == ["s0", "known0", "s1", "known1", "s2"]
    assert not any(cast.feedback for _, cast in seen)
    assert not any(cast.surplus for _, cast in seen)


def test_a_reserve_has_checks_at_the_same_positions_as_single_leases() -> None:
    project, user = with_known("check", n=1, check_every=2)
    held = assignment.lease_several(project, user, n=5)
    assert [lease.item.external_id for lease in held] == ["s0", "s1", "known0", "s2"]
    assert me(project).since_check == 1


def test_failed_checks_pause_a_person_and_return_their_leases(django_capture_on_commit_callbacks) -> None:
    project, user = with_known("check", check_every=1, least_checks=1)
    answer_next(project, user, "A")
    check = assignment.lease_next(project, user)
    held = assignment.lease_next(project, user, current_leases=[check.pk])
    with django_capture_on_commit_callbacks(execute=True):
        answer_item(check.item, user, "B")
    held.refresh_from_db()
    assert (me(project).paused_at is not None, held.ending) == (True, "returned")
    with pytest.raises(NotAllowed, check=code("paused")):
        assignment.lease_next(project, user)


def test_late_answers_of_a_paused_person_are_stored_but_not_counted() -> None:
    project, user = with_known("check")
    lease = assignment.lease_next(project, user)
    gold_questions.pause(me(project), by=curator())
    answer_item(lease.item, user, "A")
    item = project.items.get(external_id="s0")
    assert (item.state, item.answers.get().set_aside, Vote.objects.count()) == ("open", True, 1)


def test_marks_before_a_resumption_no_longer_count() -> None:
    project, user = with_known("check", n=3, check_every=1, least_checks=1)
    answer_next(project, user, "A")
    answer_next(project, user, "B")
    gold_questions.resume(me(project), by=curator())
    answer_next(project, user, "A")
    answer_next(project, user, "A")
    assert me(project).paused_at is None


def test_gold_questions_are_neither_frozen_nor_counted() -> None:
    project, user = with_known("check", check_every=1)
    answer_next(project, user, "A")
    answer_next(project, user, "A")
    assert builder.count_by_state(project) == {
        "open": 2,
        "settled": 1,
        "disputed": 0,
        "adjudicated": 0,
        "unusable": 0,
    }


def test_only_an_untouched_item_becomes_a_gold_question() -> None:
    project, user = with_known("check")
    first, second = project.items.filter(use="")[:2]
    made = gold_questions.make_gold_question(first, payload={"relations": ["A"]}, use="qualify", by=curator())
    assert (made.item.use, made.item.free) == ("qualify", 0)
    answer_item(second, user, "A")
    with pytest.raises(Conflict, check=code("already_answered")):
        gold_questions.make_gold_question(second, payload={"relations": ["A"]}, use="check", by=curator())
    with pytest.raises(DomainError, check=code("unknown_use")):
        gold_questions.make_gold_question(second, payload={"relations": ["A"]}, use="other", by=curator())


def test_a_gold_question_needs_an_answer() -> None:
    project = project_with_items(1)
    batch = import_lines(project, [sentence("k0"), sentence("k1", relations=[])], known="check")
    assert (batch.refused, project.items.filter(use="check").count()) == (1, 1)


def test_only_curators_change_quality_options() -> None:
    project, user = with_known("check")
    with pytest.raises(NotAllowed):
        gold_questions.set_quality_options(project, by=user, check_every=3)
    with pytest.raises(NotAllowed):
        gold_questions.resume(participants.annotator_of(project, user), by=user)
    with pytest.raises(DomainError, check=code("bad_option")):
        gold_questions.set_quality_options(project, by=curator(), pass_percent=101)
