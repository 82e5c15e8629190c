"""Atom feed of the public events of a benchmark."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed, get_tag_uri
from django.views.decorators.http import require_safe

from evalsvc.core.web.svg import CONTROLS
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks.events import events


@require_safe
def board_feed(request: HttpRequest, slug: str) -> HttpResponse:
    """Openings, versions, first scores and papers, as anybody who sees the board may read them."""
    benchmark = roles.benchmark_for(request.user, slug)
    board = request.build_absolute_uri(reverse("board", args=[slug]))
    feed = Atom1Feed(
        title=CONTROLS.sub("", str(benchmark)),
        link=board,
        description=CONTROLS.sub("", benchmark.summary),
        feed_url=request.build_absolute_uri(),
        language="en",
        author_name=CONTROLS.sub("", f"Organisers of {benchmark}"),
    )
    for event in events(benchmark):
        feed.add_item(
            title=CONTROLS.sub("", event.title),
            link=request.build_absolute_uri(event.path),
            description=CONTROLS.sub("", event.html),
            unique_id=get_tag_uri(f"{board}{event.key}", event.at),
            pubdate=event.at,
            updateddate=event.at,
        )
    response = HttpResponse(content_type=feed.content_type)
    feed.write(response, "utf-8")
    return response
