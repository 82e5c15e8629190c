"""The whole service on one machine: broker, processes and their supervisor."""
