"""Page of contributed measures: members compose them, organisers decide."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, page, row_id
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import contributed
from evalsvc.evaluation.measures.composition import BASE_TITLES, SCHEME_NAMES, WORDS, formula
from evalsvc.evaluation.measures.inventory import RELATION
from evalsvc.evaluation.models import Benchmark

SHOW, SHOWN_LABELS = "show", 12
TOGETHER = "*"
FIGURES = [("f1", "F"), ("precision", "precision"), ("recall", "recall")]
ONE_PER_LINE = {"rows": 4, "class": "field mono"}


class MeasureForm(PageForm):
    """Name and title of a composed measure."""

    OTHER_NAMES = ("action",)
    title = forms.CharField(max_length=60, help_text="Heading of its column, for example: macro F2 of places")
    name = forms.SlugField(
        max_length=40,
        help_text="Letters, digits, - and _, for example: places_f2. A name again makes its next version.",
    )
    figure = forms.ChoiceField(choices=FIGURES)

    def composition(self) -> dict[str, Any]:
        """Return the parts that the form states."""
        raise NotImplementedError

    def given(self, *names: str) -> dict[str, Any]:
        """Return the fields that are filled in."""
        values = {name: self.cleaned_data.get(name) for name in names}
        return {name: value for name, value in values.items() if value not in ("", None)}


class CountedForm(MeasureForm):
    """Measure over the counts of classes."""

    base = forms.ChoiceField(help_text="What is counted as correct.")
    beta = forms.FloatField(
        required=False, label="β", help_text="Weight of recall against precision in F. Empty: 1"
    )
    scheme = forms.ChoiceField(
        label="Average",
        initial="macro",
        choices=[(name, name) for name in SCHEME_NAMES] + [("custom", "own class weights")],
    )
    labels = forms.CharField(
        required=False, label="Classes", widget=forms.Textarea(attrs=ONE_PER_LINE),
        help_text="One per line. Empty: all classes.",
    )  # fmt: skip
    weights = forms.CharField(
        required=False, label="Own class weights", widget=forms.Textarea(attrs=ONE_PER_LINE),
        help_text="One averaged class per line, for example: person = 2. They are scaled to sum to 1.",
    )  # fmt: skip

    def composition(self) -> dict[str, Any]:
        labels, parts = (
            self.cleaned_data["labels"].split("\n"),
            self.given("base", "figure", "scheme", "beta"),
        )
        if chosen := [line.strip() for line in labels if line.strip()]:
            parts["labels"] = chosen
        if weights := numbers(self.cleaned_data["weights"]):
            parts["weights"] = weights
        return parts


class WordsForm(MeasureForm):
    """Measure over the words of entities."""

    figure = forms.ChoiceField(choices=[("f1", "R1-F1"), ("precision", "R1-P"), ("recall", "R1-R")])
    over = forms.ChoiceField(
        label="Documents", choices=[("pooled", "words summed over documents"), ("mean", "mean of documents")]
    )
    gamma = forms.ChoiceField(
        label="γ", choices=[("strict", "strict"), ("lenient", "lenient"), ("custom", "own γ")]
    )
    scheme = forms.ChoiceField(
        required=False,
        label="Shares of the types",
        choices=[("", "equal"), *((name, name) for name in SCHEME_NAMES if name != "micro")],
        help_text="How strict or lenient γ are divided among the types.",
    )
    gammas = forms.CharField(
        required=False, label="Own γ", widget=forms.Textarea(attrs=ONE_PER_LINE),
        help_text="One type per line, for example: person = 2; all types together as * = 3.",
    )  # fmt: skip

    def composition(self) -> dict[str, Any]:
        parts = {"base": WORDS} | self.given("figure", "over", "gamma", "scheme")
        if given := numbers(self.cleaned_data["gammas"]):
            together = {"combined": given.pop(TOGETHER)} if TOGETHER in given else {}
            parts["gammas"] = {"classes": given} | together
        return parts


def numbers(text: str) -> dict[str, float]:
    """Read lines of a class and its number."""
    found: dict[str, float] = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        before, _, value = line.rpartition("=")
        if (name := before.strip()) in found:
            raise DomainError("bad_composition", f"{name[:80]} has two numbers.")
        try:
            found[name] = float(value)
        except ValueError:
            hint = "Write the class, = and a number, for example: person = 2."
            raise DomainError("bad_composition", f"{line[:80]!r} has no number.", hint=hint) from None
    return found


FORMS: dict[str, type[MeasureForm]] = {"counts": CountedForm, "words": WordsForm}


@page("GET", "POST", admit=(), decline=(), retire=())
def measures_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Contributed measures of a benchmark, with forms to compose another."""
    benchmark, person = roles.benchmark_for(request.user, slug), users.person(request)
    if (decided := _decided(request, benchmark, person)) is not None:
        messages.info(request, decided)
        return redirect("board-measures", slug)
    action, _, step = request.POST.get("action", "").partition("-")
    shown, forms_of = "", _forms(request, benchmark, action)
    form = forms_of.get(action)
    if form is not None and form.is_valid():
        if step == SHOW:
            shown = attempt(form, lambda: formula(contributed.composed(benchmark, form.composition()))) or ""
        elif attempt(form, lambda: _propose(form, benchmark, person)):
            messages.info(request, "Measure proposed. The organisers decide whether to admit it.")
            return redirect("board-measures", slug)
    measures = list(benchmark.measures.select_related("by"))
    progress = contributed.progress(benchmark, measures)
    notes = {each.key: "Its scores stay with their runs." for each in measures if each.state == "retired"}
    for key, title in benchmark.settings.values_list("main", "title"):
        notes[key] = f"Main measure of “{title}”."
    context = {
        "benchmark": benchmark,
        "organiser": roles.role_in(benchmark, person) == roles.ORGANISER,
        "measures": [(each, progress.get(each.pk), notes.get(each.key, "")) for each in measures],
        "forms": forms_of,
        "shown": shown,
    }
    invalid = form is not None and bool(form.errors)
    return render(request, "evaluation/measures.html", context, status=400 if invalid else 200)


def _forms(request: HttpRequest, benchmark: Benchmark, action: str) -> dict[str, MeasureForm]:
    """Return the forms that the benchmark has a base for, the one sent bound."""
    bases = contributed.bases_of(benchmark)
    counted = [(base, BASE_TITLES[base]) for base in bases if base != WORDS]
    kinds = [kind for kind, fits in (("counts", counted), ("words", WORDS in bases)) if fits]
    made = {
        kind: FORMS[kind](request.POST if kind == action else None, auto_id=f"{kind}_%s") for kind in kinds
    }
    for kind, form in made.items():
        names = [
            each["name"] for each in benchmark.labels if kind == "counts" or each.get("part") != RELATION
        ]
        here = ", ".join([*names[:SHOWN_LABELS], *(["…"] if len(names) > SHOWN_LABELS else [])])
        form.fields["labels" if kind == "counts" else "gammas"].help_text += f" Here: {here}."
        if isinstance(base := form.fields.get("base"), forms.ChoiceField):
            base.choices = counted
    return made


def _propose(form: MeasureForm, benchmark: Benchmark, person: User) -> Any:
    names = {key: form.cleaned_data[key] for key in ("name", "title")}
    return contributed.propose(benchmark, composition=form.composition(), by=person, **names)


def _decided(request: HttpRequest, benchmark: Benchmark, person: User) -> str | None:
    """Admit, decline or retire a measure, if the button of one was pressed."""
    for name in ("admit", "decline", "retire"):
        if (number := request.POST.get(name)) is not None:
            rows = benchmark.measures.select_related("benchmark")
            measure = get_object_or_404(rows, pk=row_id(number))
            if name == "retire":
                contributed.retire(measure, by=person)
            else:
                contributed.decide(measure, admit=name == "admit", by=person)
            return f"{measure} {measure.get_state_display().lower()}."
    return None
