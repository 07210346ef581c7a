"""Renderers of one report: terminal, HTML, Markdown, JSON."""
