"""The forms by which a curator watches the labelling: known sentences, predictions, pauses."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.models import Batch, Item, Project
from annotation.pages.forms import FileForm, format_choices, upload_field
from evalsvc.core.web.forms import PageForm


class KnownForm(FileForm):
    sort = Batch.What.ITEMS
    known = forms.ChoiceField(
        label="What they are for",
        choices=[
            (Item.Use.QUALIFY, "the qualification round, each answer explained"),
            (Item.Use.CHECK, "hidden checks among the work"),
        ],
        initial=Item.Use.QUALIFY,
        widget=forms.RadioSelect,
    )
    upload = upload_field("Sentences with their answers: relations or spans on every line, [] for N/A.")


class PredictionsForm(FileForm):
    sort = Batch.What.SUGGESTIONS
    upload = upload_field(
        "Predictions by id, for sentences of this project. A later file replaces an earlier one."
    )
    format = forms.ChoiceField(required=False, choices=format_choices("suggestions"))


class QualityForm(PageForm, forms.ModelForm):
    """How a project watches its annotators; what is asked is checked by the verb."""

    class Meta:
        model = Project
        fields = [
            *("qualifies", "pass_percent", "check_every", "least_checks"),
            *("suggests", "calls_extra", "most_extra"),
        ]
        labels = {
            "qualifies": "The qualification round comes first",
            "pass_percent": "Known sentences to get right, in %",
            "check_every": "A hidden check after so many sentences",
            "least_checks": "Checks before anybody is paused",
            "suggests": "Show predictions as a first answer",
            "calls_extra": "Show a disputed sentence to more people by itself",
            "most_extra": "People beyond the usual number, at most",
        }
        help_texts = {
            "qualifies": "Nobody gets work before passing it. Feedback on each answer is given there only.",
            "pass_percent": "Fewer pauses the person: at the end of the round, and after enough checks.",
            "check_every": "0 for none. Checks look like any other sentence.",
            "least_checks": "Too few known sentences say little about anybody.",
            "suggests": "Off unless you know why: people follow what is shown. Recorded on every answer.",
            "calls_extra": "Else an adjudicator asks for them, sentence by sentence.",
            "most_extra": "0: nobody can be called in.",
        }


class ReasonForm(PageForm):
    reason = forms.CharField(
        label="Why", max_length=200, help_text="Kept on record; shown to the person when they are paused."
    )


class KnownSentenceForm(PageForm):
    """One sentence of the project made a known one."""

    sentence = forms.CharField(label="Its id in the file", max_length=200)
    use = forms.ChoiceField(
        label="What it is for",
        choices=[(Item.Use.QUALIFY, "qualification round"), (Item.Use.CHECK, "hidden check")],
    )
    answer = forms.MultipleChoiceField(required=False, label="Its answer", help_text="None picked: N/A.")
    explains = forms.CharField(
        label="Why", required=False, max_length=2_000, help_text="Shown in the round to whoever got it wrong."
    )

    def __init__(self, *args: Any, choices: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["answer"].choices = choices  # type: ignore[attr-defined]
