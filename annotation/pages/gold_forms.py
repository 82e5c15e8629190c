"""Forms that make a sentence a gold question."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.models import Item, Project
from annotation.ontology.inventory import inventory
from annotation.pages.dispute_view import as_json
from annotation.pages.project_page import ActionForm
from annotation.pages.span_editor import SpanEditor, read_answer
from annotation.queue import quality_settings
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.label_mapping import empty_answer


class GoldForm(ActionForm):
    """Use of a gold question; a subclass has its answer."""

    use = forms.ChoiceField(
        choices=[(Item.Use.QUALIFY, "qualification round"), (Item.Use.CHECK, "hidden check")]
    )
    explains = forms.CharField(
        label="Explanation",
        required=False,
        max_length=2_000,
        help_text="Shown in the qualification round with a wrong answer.",
    )

    def payload(self) -> Any:
        raise NotImplementedError

    def values(self) -> dict[str, Any]:
        """Return what `make_gold_question` takes."""
        names = ("use", "explains")
        return {"payload": self.payload()} | {name: self.cleaned_data[name] for name in names}

    def apply_to(self, item: Item, *, by: User) -> str:
        quality_settings.make_gold_question(item, by=by, **self.values())
        return f"{item.external_id} is now a gold question and no longer in the queue."


class GoldAnswerForm(GoldForm):
    """Use and answer of a gold question about relations."""

    answer = forms.MultipleChoiceField(required=False, label="Gold answer", help_text="Select none for N/A.")
    field_order: tuple[str, ...] = ("use", "answer")

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(choice.name, choice.title) for choice in inventory(project)]
        self.fields["answer"].choices = choices  # type: ignore[attr-defined]

    def payload(self) -> Any:
        return {"spans": [], "relations": self.cleaned_data["answer"]}


class GoldSpansForm(GoldForm):
    """Use of a gold question, with an answer marked in the text."""

    answer = forms.CharField()

    def __init__(self, *args: Any, item: Item, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sent = self.data.get("answer") if self.is_bound else None
        self.editor = SpanEditor(item, sent or as_json(empty_answer()))

    def payload(self) -> Any:
        return read_answer(self.cleaned_data["answer"])


class GoldQuestionForm(GoldAnswerForm):
    """The same, for a sentence named by its id."""

    sentence = forms.CharField(
        label="Sentence id", max_length=200, help_text="As in the file, for example: s17."
    )
    field_order = ("sentence", "use", "answer")

    def apply(self, project: Project, *, by: User) -> str:
        external_id = self.cleaned_data["sentence"].strip()
        item = project.items.present().filter(external_id=external_id).first()
        if item is None:
            raise DomainError(
                "unknown_id",
                f"No sentence of this project has the id {external_id!r}.",
                hint="Use an id from the imported file.",
                field="sentence",
            )
        return self.apply_to(item, by=by)


def gold_form(item: Item, *args: Any) -> GoldForm:
    """Return the form for an item of its kind of project."""
    if item.project.kind == Kind.RELATIONS:
        return GoldAnswerForm(*args, project=item.project)
    return GoldSpansForm(*args, item=item)
