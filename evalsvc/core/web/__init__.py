"""The web kit: formatting, SVG, downloads, pagination, text checks."""
