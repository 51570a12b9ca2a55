"""A figure of the report as an SVG file of its own, with the colours that the report's page gives it."""

from __future__ import annotations

from malaprop.frame.report.figures import HEIGHT, WIDTH

_COLORS = ("#0b6fb8", "#c2571a", "#2a8a4a", "#8a3fa0", "#8a6d1f", "#555", "#b0245a", "#15808a")


def stand_alone(figure: str, key: str = "", *, wide: float = WIDTH, below: float = 0) -> str:
    """Return an SVG file with the figure, and `key` on `below` pixels under it."""
    colors = ";".join(f"--c{number}:{color}" for number, color in enumerate(_COLORS))
    style = (
        f"svg{{{colors}}}text{{font:13px system-ui,sans-serif;fill:#333}}.grid{{stroke:#ddd}}.base{{stroke:#888}}"
        ".line{fill:none;stroke-width:2.25;stroke-linejoin:round}.whisker{stroke:#222;stroke-width:1.5}"
    )
    inner = figure.replace("<svg ", f'<svg width="{wide:g}" height="{HEIGHT}" ', 1)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {HEIGHT + below:g}">\n<style>{style}</style>\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{inner}\n{key}\n</svg>\n'
    )
