"""python -m malaprop_bench OPTIONS: the command `malaprop bench`, also where this package is not installed."""

import sys

from malaprop.cli.main import main
from malaprop.frame.rooms import Command
from malaprop.frame.study.commands import COMMANDS

COMMANDS["bench"] = Command("malaprop_bench.command:bench", "Measure speed, beside other toolkits.")
sys.argv.insert(1, "bench")
main()
