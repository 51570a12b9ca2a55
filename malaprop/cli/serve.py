"""malaprop serve: the playground in a browser."""

from __future__ import annotations

from typing import Annotated

import typer

from malaprop.cli import options as o


def serve(
    victim: Annotated[
        list[str], typer.Option(help="What audit takes; repeat it, or use commas, for up to four side by side.")
    ],
    data: Annotated[str, typer.Option(help="Where the examples to pick from come from, as in audit.")] = "mr",
    n: Annotated[int, typer.Option("--n", help="How many examples to pick from.", min=0, max=200)] = 12,
    budget: Annotated[int, typer.Option(help="Most victim queries an attack may ask.", min=1)] = 5_000,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.", min=0, max=65_535)] = 8765,
    expose: Annotated[
        bool, typer.Option("--expose", help="Let other machines in; whoever reaches the address can use the page.")
    ] = False,
    seed: o.Seed = 0,
    split: o.Split = "auto",
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    labels: o.Labels = None,
    device: o.Device = "auto",
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Try attacks on your own sentences in a browser, and watch them work step by step.

    Examples:

      malaprop serve --victim CNN-W-GloVe-1

      malaprop serve --victim LSTM-W-GloVe-1 --victim BERT --port 9000
    """
    from malaprop.core.errors import AssetError, SettingError
    from malaprop.playground.texts import VICTIMS
    from malaprop.web.extra import need_web

    need_web()
    from malaprop.web.serving import bind, serve

    specs = [name.strip() for given in victim for name in given.split(",") if name.strip()]
    if not 1 <= len(specs) <= VICTIMS:
        raise SettingError(f"--victim takes 1 to {VICTIMS} victims, got {len(specs)}")
    with bind(host, port, expose=expose) as listening:  # first: a port in use should not wait for a model
        from malaprop.playground.app import make_app
        from malaprop.playground.room import Room
        from malaprop.playground.warm import warm_up
        from malaprop.runs.victims import victim as open_victim

        try:
            texts = o.selection(data, split, n, seed, text=text, label=label, labels=labels)
            examples = texts.held(specs) if n else texts.whole(specs).first(0)
            o.tell(examples.notes, quiet)
        except AssetError as error:
            o.say(f"no examples to pick from: {error}", quiet)
            examples = None
        victims = [open_victim(spec, device=device, quiet=quiet) for spec in specs]
        room = Room(victims, data=examples, budget=budget)
        o.say("warming up ...", quiet)
        warm_up(room)
        names = [desk.name for desk in room.desks]
        o.finish({"command": "serve", "host": host, "port": listening.getsockname()[1], "victims": names}, json)
        serve(make_app(room), host=host, expose=expose, say=lambda line: o.say(line, quiet), listening=listening)
