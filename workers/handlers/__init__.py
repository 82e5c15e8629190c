"""Handlers of the job kinds; `workers.runner` lists them."""
