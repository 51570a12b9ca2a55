"""malaprop natural: adversaries in the latent space of a generative model, and robustness measured by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from malaprop.cli import naturaltext
from malaprop.cli import options as o
from malaprop.cli.progress import found_bar

if TYPE_CHECKING:
    from malaprop.natural.work import ImageJob

VICTIM = "forest"  # of images, where none is named
app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Victim = Annotated[
    str | None,
    typer.Option(
        help="Of images: forest, lenet or mlp (trained once), a folder written by train, a .skops file, or "
        "module:attribute (a function: array of images to scores); forest if not given. Of texts: as audit takes it; "
        f"{naturaltext.VICTIM} if not given."
    ),
]
Data = Annotated[
    str,
    typer.Option(
        help="mnist, mnist-full, an .npz file or a folder of idx files; or a set of texts, as audit takes it."
    ),
]
Generator = Annotated[
    str | None, typer.Option(help="A folder written by train wgan, vae or arae; or wgan or vae, trained once.")
]
Search = Annotated[str, typer.Option(help="hybrid or iterative, as in the paper, or boundary, which needs less.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting of the search, as samples=500 or hybrid.step=0.02; may be repeated."),
]
Cap = Annotated[int, typer.Option(help="Most queries of one search.", min=1)]
Refine = Annotated[
    int, typer.Option(help="Gradient steps that bring the start of each search nearer to its image.", min=0)
]
Judge = Annotated[
    str | None,
    typer.Option(
        help="Of images: a classifier that no search asks and that labels adversaries: auto (if not given), none, or a "
        "victim."
    ),
]
Probe = Annotated[
    str | None,
    typer.Option(
        help="Of a translator (--victim FOLDER or module:function): word-appears:WORD, or verb-dropped; what its "
        "translations are searched for."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Use a generator that was trained on other data.")]
Count = Annotated[int, typer.Option("--n", help="How many items, drawn by the seed, labels taking turns.", min=1)]


@app.callback()
def natural(
    context: typer.Context,
    victim: Victim = None,
    data: Data = "mnist",
    generator: Generator = None,
    search: Search = "hybrid",
    n: Count = 100,
    set_: Settings = None,
    cap: Cap = 10_000_000,
    refine: Refine = 0,
    judge: Judge = None,
    probe: Probe = None,
    force: Force = False,
    split: o.Split = "auto",
    labels: o.Labels = None,
    seed: o.Seed = 0,
    width: o.Width = 64,
    device: o.Device = "auto",
    out: o.Out = None,
    resume: o.Resume = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Find adversaries that look like the data: changes of a latent point, not of pixels or words.

    Examples:

      malaprop natural --victim forest --n 50

      malaprop natural --victim my_model:predict --data digits.npz --generator models/vae --search boundary

      malaprop natural compare --victims forest,lenet

      malaprop natural --victim models/pair-lstm --data pairs.csv --generator models/arae
    """
    if context.invoked_subcommand is not None:
        return
    from malaprop.core.settings import overrides
    from malaprop.data.images import is_images
    from malaprop.runs.victims import device_of

    common: dict[str, Any] = {
        "data": data,
        "folder": o.out_folder(out, resume, "natural", victim or "", data),
        "search": search,
        "settings": overrides(set_ or []),
        "n": n,
        "seed": seed,
        "width": width,
        "cap": cap,
        "force": force,
        "device": device_of(device),
        "quiet": quiet,
    }
    if not is_images(data):
        _refuse("--judge", judge, "is of images, and --data holds texts")
        common |= {"refine": refine, "probe": probe, "split": split, "labels": labels}
        naturaltext.one(victim, generator=generator, resume=resume, json=json, **common)
        return
    _refuse("--labels", labels, "names labels of texts, and --data holds images")
    _refuse("--probe", probe, "asks a translator of texts, and --data holds images")
    job = _job(generator, resume, refine=refine, judge=judge or "auto", split=_image_split(split), **common)
    from malaprop.natural.work import short

    victim = victim or VICTIM
    name = short([victim])[victim]
    with found_bar(f"{search} on {name}", len(job.some), quiet) as seen:
        tried, finds = job.run(victim, job.folder, called=name, resume=resume, seen=seen)
    rows, shown = [tried], {name: finds}
    if (baseline := job.fgsm(victim, name)) is not None:
        rows.append(baseline[0])
        shown[f"{name}, FGSM"] = baseline[1]
    _finish("natural", job, job.record(rows, shown), json)


@app.command()
def compare(
    victims: Annotated[str, typer.Option(help="Two or more victims, separated by commas.")] = "forest,lenet",
    data: Data = "mnist",
    generator: Generator = None,
    searches: Annotated[str, typer.Option(help="One or more searches; the first one compares the victims.")] = "hybrid",
    n: Count = 100,
    set_: Settings = None,
    cap: Cap = 10_000_000,
    refine: Refine = 0,
    judge: Judge = None,
    force: Force = False,
    split: o.Split = "auto",
    labels: o.Labels = None,
    seed: o.Seed = 0,
    width: o.Width = 64,
    device: o.Device = "auto",
    out: o.Out = None,
    resume: o.Resume = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Compare the robustness of victims on the same items, without labels: the larger the change needed, the better.

    Examples:

      malaprop natural compare --victims forest,lenet --searches hybrid,iterative,boundary
    """
    from malaprop.core.errors import SettingError
    from malaprop.core.settings import overrides
    from malaprop.data.images import is_images
    from malaprop.runs.victims import device_of

    names, kinds = o.listed(victims) or (), o.listed(searches) or ()
    if len(names) < 2 or not kinds:
        raise SettingError(f"a comparison takes two victims or more and a search, got {victims!r} and {searches!r}")
    common: dict[str, Any] = {
        "data": data,
        "folder": o.out_folder(out, resume, "natural", "compare", data),
        "settings": overrides(set_ or []),
        "n": n,
        "seed": seed,
        "width": width,
        "cap": cap,
        "refine": refine,
        "force": force,
        "device": device_of(device),
        "quiet": quiet,
    }
    if not is_images(data):
        _refuse("--judge", judge, "is of images, and --data holds texts")
        common |= {"split": split, "labels": labels}
        naturaltext.several(names, kinds, generator=generator, resume=resume, json=json, **common)
        return
    _refuse("--labels", labels, "names labels of texts, and --data holds images")
    job = _job(generator, resume, search=kinds[0], judge=judge or "auto", split=_image_split(split), **common)
    from malaprop.natural.work import short

    rows, shown = [], {}
    for kind in kinds:
        for spec, name in short(names).items():
            folder = job.folder / o.slug(kind) / o.slug(name)
            with found_bar(f"{kind} on {name}", len(job.some), quiet) as seen:
                tried, finds = job.run(spec, folder, search=kind, called=name, labels=False, resume=resume, seen=seen)
            rows.append(tried)
            if kind == kinds[0]:
                shown[name] = finds
            o.say(f"{name} under {kind}: found {tried.success} in {tried.seconds:.0f} s", quiet)
    _finish("natural compare", job, job.record(rows, shown, **job.compared(shown)), json)


@app.command()
def sweep(
    classifiers: Annotated[
        int, typer.Option(help="How many: hidden widths 2 to 1024, dropout 0.9 to 0, and variants.", min=2)
    ] = 40,
    data: Data = "mnist",
    generator: Generator = None,
    search: Search = "boundary",
    n: Count = 50,
    set_: Settings = None,
    epochs: Annotated[int, typer.Option(help="Of each classifier's training.", min=1)] = 3,
    batch: Annotated[int, typer.Option(help="Of each classifier's training.", min=1)] = 64,
    cap: Cap = 10_000_000,
    refine: Refine = 0,
    force: Force = False,
    split: o.OwnSplit = "test",
    seed: o.Seed = 0,
    width: o.Width = 64,
    device: o.Device = "auto",
    out: o.Out = None,
    resume: o.Resume = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Train classifiers from poor to good and tell how well the distance of adversaries follows their accuracy.

    Examples:

      malaprop natural sweep --classifiers 20 --n 40
    """
    from malaprop.core.settings import overrides
    from malaprop.runs.victims import device_of

    job = _job(
        generator,
        resume,
        data=data,
        folder=o.out_folder(out, resume, "natural", "sweep", data),
        search=search,
        settings=overrides(set_ or []),
        n=n,
        split=split,
        seed=seed,
        width=width,
        cap=cap,
        refine=refine,
        judge="none",
        force=force,
        device=device_of(device),
        quiet=quiet,
    )
    from malaprop.reports.tables import brief

    many = 0

    def seen(dot: Any) -> None:
        nonlocal many
        many += 1
        lost = f"; {dot.errors} searches ended in an error" if dot.errors else ""
        told = f"accuracy {dot.accuracy}, found {dot.found}, distance {brief(dot.distance.mean)}{lost}"
        o.say(f"{many} of {classifiers}: {dot.name}: {told}", quiet)

    record = job.sweep(classifiers, epochs=epochs, batch=batch, resume=resume, seen=seen)
    _finish("natural sweep", job, record, json)


@app.command()
def synthetic(
    n: Count = 40,
    seed: o.Seed = 0,
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Show on a curve in the plane why a latent search stays on the data's manifold and a plain one leaves it.

    Examples:

      malaprop natural synthetic
    """
    from malaprop.core.errors import RecordError
    from malaprop.natural.synthetic import show
    from malaprop.records.natural import NaturalRecord
    from malaprop.reports.page import write_report

    folder = o.out_folder(out, False, "natural", "synthetic")
    before = NaturalRecord.read(folder)
    if before is not None and before.synthetic is None:
        raise RecordError(f"{folder} holds the results of another study; choose another --out")
    found = show(n, seed=seed)
    NaturalRecord(data="a curve in the plane", generator="a WGAN with 2 dimensions", synthetic=found).write(folder)
    report = write_report([folder], folder / "report.html")
    apart = {"latent": found.latent_apart.to_dict(), "plane": found.plane_apart.to_dict()}
    if not quiet:
        print(f"mean distance from the data: latent search {apart['latent']['mean']}, plane {apart['plane']['mean']}")
        o.say(f"report: {report}")
    o.finish({"command": "natural synthetic", "out": str(folder), "report": str(report), "apart": apart}, json)


def _refuse(option: str, value: str | None, why: str) -> None:
    """An option of the other kind of data would do nothing."""
    from malaprop.core.errors import SettingError

    if value is not None:
        raise SettingError(f"{option} {value} {why}; leave it out")


def _image_split(split: str) -> str:
    """Sets of images have parts of their own."""
    return "test" if split == "auto" else split


def _job(generator: str | None, resume: bool, **settings: Any) -> ImageJob:
    """The settings; a folder with results is refused before any work."""
    from malaprop.natural.work import ImageJob
    from malaprop.records.natural import FILE, LINES
    from malaprop.records.store import refuse_results

    refuse_results(settings["folder"], FILE, LINES, resume=resume)
    quiet = bool(settings["quiet"])
    return ImageJob(generator=generator or "vae", say=lambda line: o.say(line, quiet), **settings)


def _finish(command: str, job: ImageJob, record: Any, json: bool) -> None:
    from malaprop.reports.natural import terminal
    from malaprop.reports.page import write_report

    path = record.write(job.folder)
    report = write_report([job.folder], job.folder / "report.html")
    if not job.quiet:
        print(terminal(record))
        o.say(f"figures in {path}; report: {report}")
    o.finish({"command": command, "out": str(job.folder), "report": str(report), **_summary(record)}, json)


def _summary(record: Any) -> dict[str, Any]:
    return {
        "data": record.data,
        "generator": record.generator,
        "quality": record.quality,
        "runs": [
            {
                "victim": t.victim,
                "search": t.search,
                "accuracy": t.accuracy.to_dict(),
                "success": t.success.to_dict(),
                "distance": t.distance.to_dict(),
                "distance_where_the_start_held": t.searched.to_dict(),
                "asked": t.asked.to_dict(),
                "changed_at_start": t.started.to_dict(),
                "judged": {
                    "original": t.judged_original.to_dict(),
                    "new": t.judged_changed.to_dict(),
                    "another": t.judged_other.to_dict(),
                },
                "reasons": t.reasons,
                "errors": t.errors,
            }
            for t in record.tried
        ],
        "largest": {name: rate.to_dict() for name, rate in record.largest.items()},
        "pairs": [
            {"one": p.one, "two": p.two, "larger": p.larger.to_dict(), "ties": p.ties, "p": p.p} for p in record.pairs
        ],
        "correlations": [
            {"group": c.group, "rho": c.rho, "low": c.low, "high": c.high, "count": c.count}
            for c in record.correlations
        ],
    }
