"""The section of the report on natural adversaries of images: tables, pictures and figures."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.frame.records.summary import Rate
from malaprop.frame.report.figures import legend, percent
from malaprop.frame.report.markup import Child, Markup, join, tag
from malaprop.frame.report.scatter import Dots, ScatterFrame, scatter
from malaprop.frame.report.section import Section
from malaprop.frame.report.tables import DASH, brief, card, number, panel, panels, table
from malaprop.papers.natural.record import ImageResult, ImageRunFigures, NaturalRecord, SweepDot, Synthetic, VictimPair

TITLE = "Natural adversaries"
_SHOWN = 10  # examples of each victim in the grid
_STRIPS = 6


def naturals(found: Sequence[NaturalRecord]) -> Markup:
    """Return a card for each record."""
    return join(*(_card(record, number) for number, record in enumerate(found)))


def _card(record: NaturalRecord, number: int) -> Markup:
    lead = (
        f"{record.data}: searches in the latent space of {record.generator or 'a generative model'}. The distance is "
        "how far the adversary's point lies from the start of its search: the larger, the more had to change."
    )
    body: list[Child] = [_searches(record.tried), _comparison(record), _sweep(record)]
    body += [_gallery(victim, finds) for victim, finds in record.gallery.items()]
    body += [_strips(record), _quality(record)]
    if record.synthetic is not None:
        body.append(_synthetic(record.synthetic))
    return card(f"natural-{number}", _heading(record), lead, *body)


def _heading(record: NaturalRecord) -> str:
    if record.synthetic is not None:
        return f"{TITLE}: a curve in the plane"
    if record.dots:
        return f"{TITLE}: a sweep of {len(record.dots)} classifiers"
    victims = list(dict.fromkeys(tried.victim for tried in record.tried))
    return f"{TITLE} of {' and '.join(victims)}" if victims else TITLE


def _searches(tried: Sequence[ImageRunFigures]) -> Markup:
    rows = [
        (
            t.victim,
            t.search,
            str(t.accuracy),
            str(t.success),
            number(t.distance.mean, ".3f"),
            number(t.distance.median, ".3f"),
            number(t.searched.mean, ".3f"),
            number(t.searched.median, ".3f"),
            number(t.asked.median, ",.0f"),
            number(t.pixels.mean, ".2f"),
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
    return table("Victims and searches", names, rows, note)


def _share(rate: Rate) -> str:
    return str(rate) if rate.total else DASH


def _comparison(record: NaturalRecord) -> Markup:
    shares = [(victim, _share(rate)) for victim, rate in record.largest.items()]
    title = "How often a victim needs the largest change"
    return join(table(title, ("Victim", "Largest distance"), shares), _pairs(record.pairs))


def _pairs(pairs: Sequence[VictimPair]) -> Markup:
    rows = [(pair.one, pair.two, _share(pair.larger), pair.ties, f"{pair.p:.2g}") for pair in pairs]
    names = ("First", "Second", "Second needs more", "Ties", "p (sign test)")
    return table("Every two victims on the same items", names, rows)


def _sweep(record: NaturalRecord) -> Markup:
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
    frame = ScatterFrame.around(clouds, "Accuracy", "Mean distance", show_x=percent, show_y=_two)
    key = legend(list(zip(groups, range(len(groups)), strict=True)))
    chart = panel(title, scatter(title, clouds, frame), key)
    rows = [(c.group, c.count, f"{c.rho:.3f}", f"{c.low:.3f} to {c.high:.3f}") for c in record.correlations]
    note = "Accuracy played no part in the searches; the interval resamples classifiers."
    return join(
        table("Does the distance follow accuracy?", ("Classifiers", "Count", "Spearman", "95% interval"), rows, note),
        panels(chart, kind="panels lone"),
    )


def _dot(dot: SweepDot) -> str:
    lost = f", {dot.errors} errors" if dot.errors else ""
    return f"{dot.name}: accuracy {dot.accuracy}, found {dot.found}, distance {brief(dot.distance.mean)}{lost}"


def _two(value: float) -> str:
    return f"{value:.2f}"


def _image(address: str, about: str, kind: str = "pixels") -> Child:
    return tag("img", src=address, alt=about, class_=kind) if address else ""


def _gallery(victim: str, finds: Sequence[ImageResult]) -> Markup:
    shown = [find for find in finds if find.adversary][:_SHOWN]
    if not shown:
        return Markup("")
    rows: list[list[Child]] = [["Original"], ["At the start"], ["Adversary"], ["Difference"], ["Judge says"]]
    for find in shown:
        new = f"taken for {find.changed}"
        rows[0].append(join(_image(find.original, f"a {find.label}"), f"{find.prediction}"))
        rows[1].append(join(_image(find.returned, "what the start generates"), number(find.start, "d")))
        rows[2].append(join(_image(find.adversary, new), f"{find.changed}"))
        rows[3].append(join(_image(find.difference, "brighter in blue, darker in red"), number(find.distance, ".2f")))
        rows[4].append(number(find.judged, "d"))
    title = f"{victim}: originals, adversaries and differences"
    note = (
        "Below each picture the victim's label, below a difference the latent distance; blue is brighter, red darker."
    )
    return table(title, ("", *(find.id for find in shown)), rows, note, "plain grid")


def _strips(record: NaturalRecord) -> Markup:
    rows: list[tuple[Child, ...]] = []
    for victim, finds in record.gallery.items():
        for find in [find for find in finds if find.strip][:_STRIPS]:
            picture = _image(find.strip, f"from {find.prediction} to {find.changed}", "strip")
            rows.append((victim, picture, f"{find.prediction} to {find.changed}", number(find.distance, ".2f")))
    names = ("Victim", "From the start to the adversary", "Labels", "Distance")
    return table("On the way", names, rows, kind="plain grid")


def _quality(record: NaturalRecord) -> Markup:
    rows = [(name.replace("_", " "), f"{value:g}") for name, value in record.quality.items()]
    sheet = _image(record.sheet, "random samples, then images and what they come back as", "sheet")
    return join(table("The generative model", ("Figure", "Value"), rows), sheet)


def _synthetic(found: Synthetic) -> Markup:
    groups = [
        Dots("data", 0, found.data, radius=2),
        Dots("starts", 4, found.origins, radius=5),
        Dots("latent search", 2, found.on_curve, radius=4),
        Dots("search in the plane", 1, found.off_curve, radius=4),
    ]
    title = "A curve in the plane: adversaries must lie above the line"
    plane = scatter(title, groups, ScatterFrame.around(groups, "x", "y", show_x=_two, show_y=_two), [found.border])
    inner = [Dots("inverted data", 0, found.latent, radius=2)]
    dense = scatter(
        "Latent points of the data", inner, ScatterFrame.around(inner, "z1", "z2", show_x=_two, show_y=_two)
    )
    back = [Dots("rebuilt data", 0, found.rebuilt, radius=2)]
    rebuilt = scatter("The data rebuilt", back, ScatterFrame.around(back, "x", "y", show_x=_two, show_y=_two))
    key = legend([(group.name, group.color) for group in groups])
    rows = [
        ("in latent space", number(found.latent_apart.mean, ".3f"), number(found.latent_apart.median, ".3f")),
        ("in the plane", number(found.plane_apart.mean, ".3f"), number(found.plane_apart.median, ".3f")),
    ]
    figures = [
        panel(title, plane, key),
        panel("Latent points of the data", dense),
        panel("The data rebuilt", rebuilt),
    ]
    names = ("Search", "Distance from the data, mean", "Median")
    return join(table("Staying on the manifold", names, rows), panels(*figures))


def terminal(record: NaturalRecord) -> str:
    """Return the text for the terminal: a line for each search, for every two victims, and for each correlation."""
    lines = [f"{tried.victim}, {tried.search}: {_line(tried)}" for tried in record.tried]
    lines += [f"{p.two} needs more than {p.one}: {p.larger}, sign test p {p.p:.2g}" for p in record.pairs]
    lines += [
        f"Spearman, {one.group}: {one.rho:.3f} ({one.low:.3f} to {one.high:.3f}, {one.count} classifiers)"
        for one in record.correlations
    ]
    if record.synthetic is not None:
        apart = (record.synthetic.latent_apart.mean, record.synthetic.plane_apart.mean)
        lines.append("mean distance from the data: latent search {}, plane {}".format(*map(brief, apart)))
    return "\n".join(lines)


def _line(tried: ImageRunFigures) -> str:
    distance = tried.distance
    return (
        f"found {tried.success}, distance mean {brief(distance.mean)}, median {brief(distance.median)}, "
        f"queries median {brief(tried.asked.median)}; accuracy {tried.accuracy}; judge: original "
        f"{tried.judged_original}, new {tried.judged_changed}, another {tried.judged_other}"
        + (f"; {tried.errors} ended in an error and are not counted" if tried.errors else "")
    )


SECTION = Section(rank=80, title=TITLE, body=naturals, terminal=terminal)
