"""The web server: gunicorn whose threads see complete requests only."""
