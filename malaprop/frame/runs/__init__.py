"""One attack over one dataset: load the victim, make the attack, run it, and write the outcomes.

`victims.victim` loads what is attacked, behind defences if its name says so (`wrap`, `defended`); `make_attack.recipe`
makes the attack; `local.run` yields an `Outcome` for each example; `folder.run_to_folder` writes them.
"""
