"""The part of the page that shows natural adversaries: tables, pictures and figures, from the record alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from malaprop.records.documents import write_whole
from malaprop.records.natural import Dot, Find, Natural, Pair, Synthetic, Tried
from malaprop.records.naturaltext import NaturalText
from malaprop.records.summary import Rate
from malaprop.reports.figures import legend, percent
from malaprop.reports.markup import Child, Markup, join, tag
from malaprop.reports.naturaltext import sentence_card
from malaprop.reports.scatter import Dots, Frame, scatter
from malaprop.reports.style import style

TITLE = "Natural adversaries"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_SHOWN = 10  # examples of each victim in the grid
_STRIPS = 6
_STYLE = (
    ".pixels{image-rendering:pixelated;width:56px;height:56px;display:block;border:1px solid var(--line)}"
    ".strip{image-rendering:pixelated;height:56px;display:block;border:1px solid var(--line)}"
    ".grid td{padding:4px 6px;vertical-align:top;font-size:12px}.sheet{image-rendering:pixelated;width:min(100%,600px)}"
    ".lone{max-width:600px}"
)


def naturals(found: Sequence[Natural | NaturalText]) -> Markup:
    """A card for each record; nothing where there is none."""
    cards = [
        sentence_card(record, number) if isinstance(record, NaturalText) else _card(record, number)
        for number, record in enumerate(found)
    ]
    return join(tag("style", Markup(_STYLE)) if cards else None, *cards)


def write_natural(found: Sequence[Natural | NaturalText], out: Path, title: str = TITLE) -> Path:
    """A page of its own, for folders that hold nothing else; written whole or not at all."""
    head = join(
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Markup(style())),
    )
    top = tag("header", tag("p", "Malaprop", class_="mark"), tag("h1", title), class_="top")
    body = tag("body", top, tag("main", naturals(found)))
    page = f"<!doctype html>\n{tag('html', tag('head', head), body, lang='en')}\n"
    return write_whole(out, page)


def _card(record: Natural, number: int) -> Markup:
    place = f"natural-{number}"
    lead = (
        f"{record.data}: searches in the latent space of {record.generator or 'a generative model'}. The distance is "
        "how far the adversary's point lies from the start of its search: the larger, the more had to change."
    )
    body: list[Child] = [tag("h2", _heading(record), id=place), tag("p", lead, class_="lead")]
    body += [_tried(record.tried), _compared(record), _sweep(record)]
    body += [_gallery(victim, finds) for victim, finds in record.gallery.items()]
    body += [_strips(record), _quality(record)]
    if record.synthetic is not None:
        body.append(_synthetic(record.synthetic))
    return tag("section", *body, class_="card study", aria_labelledby=place)


def _heading(record: Natural) -> str:
    if record.synthetic is not None:
        return f"{TITLE}: a curve in the plane"
    if record.dots:
        return f"{TITLE}: a sweep of {len(record.dots)} classifiers"
    victims = list(dict.fromkeys(tried.victim for tried in record.tried))
    return f"{TITLE} of {' and '.join(victims)}" if victims else TITLE


def _table(title: str, names: Sequence[str], rows: Sequence[Sequence[Child]], note: str = "", kind: str = "") -> Markup:
    if not rows:
        return Markup("")
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    body = [tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows]
    table = tag("table", tag("thead", head), tag("tbody", *body), class_=f"plain {kind}".strip())
    shown = tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=title)
    return join(tag("h3", title), tag("p", note) if note else None, shown)


def _figure(value: float | None, form: str = ".3f") -> str:
    return "–" if value is None else format(value, form)  # noqa: RUF001 - a dash for nothing


def _tried(tried: Sequence[Tried]) -> Markup:
    rows = [
        (
            t.victim,
            t.search,
            str(t.accuracy),
            str(t.success),
            _figure(t.distance.mean),
            _figure(t.distance.median),
            _figure(t.searched.mean),
            _figure(t.searched.median),
            _figure(t.asked.median, ",.0f"),
            _figure(t.pixels.mean, ".2f"),
            _share(t.judged_original),
            _share(t.judged_changed),
            _share(t.judged_other),
            _share(t.started),
            t.errors,
        )
        for t in tried
    ]
    names = (
        "Victim",
        "Search",
        "Accuracy",
        "Adversary found",
        "Distance, mean",
        "Median",
        "Where the start held: mean",
        "Median",
        "Queries, median",
        "Pixels",
        "Judge: original label",
        "Judge: new label",
        "Judge: another",
        "Changed at the start",
        "Errors",
    )
    note = (
        "The judge is a classifier that no search asked. Where an image that merely went through the generator and "
        "back is answered otherwise already, it has changed at the start, and no search is needed. Searches that ended "
        "in an error count in the last column alone."
    )
    return _table("Victims and searches", names, rows, note)


def _share(rate: Rate) -> str:
    return str(rate) if rate.total else "–"  # noqa: RUF001


def _compared(record: Natural) -> Markup:
    shares = [(victim, _share(rate)) for victim, rate in record.largest.items()]
    table = _table("How often a victim needs the largest change", ("Victim", "Largest distance"), shares)
    return join(table, _pairs(record.pairs))


def _pairs(pairs: Sequence[Pair]) -> Markup:
    rows = [(pair.one, pair.two, _share(pair.larger), pair.ties, f"{pair.p:.2g}") for pair in pairs]
    names = ("First", "Second", "Second needs more", "Ties", "p (sign test)")
    return _table("Every two victims on the same items", names, rows)


def _sweep(record: Natural) -> Markup:
    if not record.dots:
        return Markup("")
    groups = list(dict.fromkeys(dot.group for dot in record.dots))
    clouds = []
    for color, group in enumerate(groups):
        mine = [d for d in record.dots if d.group == group and d.distance.mean is not None]
        points = [(d.accuracy.value, d.distance.mean or 0.0) for d in mine]
        names = [_dot(d) for d in mine]
        clouds.append(Dots(group, color, points, names))
    title = "Accuracy and mean distance of classifiers"
    frame = Frame.around(clouds, "Accuracy", "Mean distance", show_x=percent, show_y=_two)
    chart = tag(
        "figure",
        tag("figcaption", title),
        scatter(title, clouds, frame),
        legend(list(zip(groups, range(len(groups)), strict=True))),
        class_="panel",
    )
    rows = [(c.group, c.count, f"{c.rho:.3f}", f"{c.low:.3f} to {c.high:.3f}") for c in record.correlations]
    note = "Accuracy played no part in the searches; the interval resamples classifiers."
    return join(
        _table("Does the distance follow accuracy?", ("Classifiers", "Count", "Spearman", "95% interval"), rows, note),
        tag("div", chart, class_="panels lone"),
    )


def _dot(dot: Dot) -> str:
    lost = f", {dot.errors} errors" if dot.errors else ""
    return f"{dot.name}: accuracy {dot.accuracy}, found {dot.found}, distance {_figure(dot.distance.mean)}{lost}"


def _two(value: float) -> str:
    return f"{value:.2f}"


def _image(address: str, about: str, kind: str = "pixels") -> Child:
    return tag("img", src=address, alt=about, class_=kind) if address else ""


def _gallery(victim: str, finds: Sequence[Find]) -> Markup:
    shown = [find for find in finds if find.adversary][:_SHOWN]
    if not shown:
        return Markup("")
    rows: list[list[Child]] = [["Original"], ["At the start"], ["Adversary"], ["Difference"], ["Judge says"]]
    for find in shown:
        new = f"taken for {find.changed}"
        rows[0].append(join(_image(find.original, f"a {find.label}"), f"{find.prediction}"))
        rows[1].append(join(_image(find.returned, "what the start generates"), _figure(find.start, "d")))
        rows[2].append(join(_image(find.adversary, new), f"{find.changed}"))
        rows[3].append(join(_image(find.difference, "brighter in blue, darker in red"), _figure(find.distance, ".2f")))
        rows[4].append(_figure(find.judged, "d"))
    title = f"{victim}: originals, adversaries and differences"
    note = (
        "Below each picture the victim's label, below a difference the latent distance; blue is brighter, red darker."
    )
    return _table(title, ("", *(find.id for find in shown)), rows, note, "grid")


def _strips(record: Natural) -> Markup:
    rows: list[tuple[Child, ...]] = []
    for victim, finds in record.gallery.items():
        for find in [find for find in finds if find.strip][:_STRIPS]:
            picture = _image(find.strip, f"from {find.prediction} to {find.changed}", "strip")
            rows.append((victim, picture, f"{find.prediction} to {find.changed}", _figure(find.distance, ".2f")))
    names = ("Victim", "From the start to the adversary", "Labels", "Distance")
    return _table("On the way", names, rows, kind="grid")


def _quality(record: Natural) -> Markup:
    rows = [(name.replace("_", " "), f"{value:g}") for name, value in record.quality.items()]
    table = _table("The generative model", ("Figure", "Value"), rows)
    return join(table, _image(record.sheet, "random samples, then images and what they come back as", "sheet"))


def _synthetic(found: Synthetic) -> Markup:
    groups = [
        Dots("data", 0, found.data, radius=2),
        Dots("starts", 4, found.origins, radius=5),
        Dots("latent search", 2, found.on_curve, radius=4),
        Dots("search in the plane", 1, found.off_curve, radius=4),
    ]
    title = "A curve in the plane: adversaries must lie above the line"
    plane = scatter(title, groups, Frame.around(groups, "x", "y", show_x=_two, show_y=_two), [found.border])
    inner = [Dots("inverted data", 0, found.latent, radius=2)]
    dense = scatter("Latent points of the data", inner, Frame.around(inner, "z1", "z2", show_x=_two, show_y=_two))
    back = [Dots("rebuilt data", 0, found.rebuilt, radius=2)]
    rebuilt = scatter("The data rebuilt", back, Frame.around(back, "x", "y", show_x=_two, show_y=_two))
    key = legend([(group.name, group.color) for group in groups])
    rows = [
        ("in latent space", _figure(found.latent_apart.mean), _figure(found.latent_apart.median)),
        ("in the plane", _figure(found.plane_apart.mean), _figure(found.plane_apart.median)),
    ]
    figures = [
        tag("figure", tag("figcaption", title), plane, key, class_="panel"),
        tag("figure", tag("figcaption", "Latent points of the data"), dense, class_="panel"),
        tag("figure", tag("figcaption", "The data rebuilt"), rebuilt, class_="panel"),
    ]
    names = ("Search", "Distance from the data, mean", "Median")
    return join(_table("Staying on the manifold", names, rows), tag("div", *figures, class_="panels"))
