"""Errors of multipart forms; apart from `exceptions`, which beat loads without Django's requests."""

from django.http.multipartparser import MultiPartParserError


class FormRefused(MultiPartParserError):
    """A multipart form that is not read as it was sent."""
