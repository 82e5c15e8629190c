"""The labelling queue over HTTP beside a bare Django application that does the same writes."""
