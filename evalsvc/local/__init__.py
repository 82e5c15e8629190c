"""The whole service on one machine: its broker, its processes, and who watches them."""
