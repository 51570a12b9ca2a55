"""malaprop serve: serve the playground to a browser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from malaprop.frame.command import options as o
from malaprop.frame.command.settings_command import command
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt
from malaprop.frame.study.vocabulary import SEVERAL, VICTIM

_MOST = 200  # examples to pick from


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeCommand:
    """Try attacks on your own sentences in a browser, and watch them work step by step.

    --n is how many examples there are to pick from.

    Examples:

      malaprop serve --victim CNN-W-GloVe-1

      malaprop serve --victim LSTM-W-GloVe-1 --victim BERT --port 9000
    """

    victim: tuple[Any, ...] = opt(help=f"{VICTIM} {SEVERAL} Up to four stand side by side.", repeat=True)
    budget: int = opt(5_000, min=1)
    host: str = opt("127.0.0.1", "The address to listen on.")
    port: int = opt(8765, "The port to listen on; 0 takes a free one.", min=0)
    expose: bool = opt(False, "Let other machines in. Whoever reaches the address can use the page.")
    texts: Selection = Selection(n=12)
    device: str = opt("auto")
    json: bool = opt(False)
    quiet: bool = opt(False)

    def check(self) -> None:
        from malaprop.core.errors import SettingError
        from malaprop.features.playground.input_checks import VICTIMS

        if not 1 <= len(self.victim) <= VICTIMS:
            raise SettingError(f"--victim takes 1 to {VICTIMS} victims, got {len(self.victim)}")
        if self.texts.n > _MOST:
            raise SettingError(f"--n takes up to {_MOST} examples to pick from, got {self.texts.n}")
        if self.port > 65_535:
            raise SettingError(f"--port must be at most 65535, got {self.port}")


def serve_playground(asked: ServeCommand) -> None:
    """Load the victims and serve the page until it is stopped."""
    from malaprop.core.errors import AssetError
    from malaprop.frame.web import need_web

    need_web()
    from malaprop.frame.web.serving import bind, serve

    asked.check()
    specs, texts, quiet = asked.victim, asked.texts, asked.quiet
    with bind(asked.host, asked.port, expose=asked.expose) as listening:  # before models load
        from malaprop.features.playground.app import make_app
        from malaprop.features.playground.victims import PlaygroundVictims, warm_up
        from malaprop.frame.runs.victims import victim as open_victim

        try:
            examples = texts.held(specs) if texts.n else texts.whole(specs).first(0)
            o.tell(examples.notes, quiet)
        except AssetError as error:
            o.say(f"no examples to pick from: {error}", quiet)
            examples = None
        victims = [open_victim(spec, device=asked.device, quiet=quiet) for spec in specs]
        room = PlaygroundVictims(victims, data=examples, budget=asked.budget)
        o.say("warming up ...", quiet)
        warm_up(room)
        port, names = listening.getsockname()[1], [thread.name for thread in room.threads]
        o.finish({"command": "serve", "host": asked.host, "port": port, "victims": names}, asked.json)
        serve(
            make_app(room), host=asked.host, expose=asked.expose, say=lambda line: o.say(line, quiet),
            listening=listening,
        )  # fmt: skip


serve = command(ServeCommand, serve_playground)
