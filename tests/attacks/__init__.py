"""Attacks that got through once, and simulations of them."""
