"""The frame: runs any study, writes its files, and shows its results. Five things to know.

1. A study is a frozen settings class (`study.study.Study`). Its fields are the options of its command, the keys of its
   TOML file and the keywords of its Python function (`study.settings`). `plan()` returns its tasks, `gather(root)`
   makes the record from what lies in the folder, and `view(record)` prepares figures for people and `--json`.
   `study.study.conduct` runs it.

2. A task never writes: it yields. `tasks.task.Task` names its work, its inputs and the kind of its output
   (`tasks.outputs`). One executor (`tasks.executor`) hands jobs to workers (`tasks.workers`: this process, several
   processes, a Ray cluster) and alone writes what they yield. A task finds device, folder and loaded victims in its
   `tasks.worker_context.WorkerContext`.

3. Resuming needs no extra state: a task whose output is complete is not run again. After a kill,
   `executor.find_unfinished` asks each output whether it is complete, `running_task` skips the examples that are
   already written, and `records.store.Writer` cuts off a half-written last line and appends after it. study.toml keeps
   the settings; `study.agreement` raises if a later run has different ones.

4. A run is one attack on one victim over one dataset. `runs.victims.victim` loads the victim, `runs.make_attack.recipe`
   makes the attack, `runs.local.run` yields an `Outcome` for each example, and run.toml and outcomes.jsonl keep them.
   What a study adds up to is a record (`records.kinds`): a dataclass in one JSON file. Older formats stay readable.

5. The report (`report.page`) shows the runs and records of any folder; each kind of record names the section
   (`report.section`) that renders it as HTML and for the terminal, from the record alone.

    conduct(study) -> study.toml -> plan -> executor <-> workers -> outputs -> gather -> record -> section -> report

The other packages: `command` turns a settings class into a terminal command, `web` serves pages in the browser, and
`rooms` reads what each package in `features` and `papers` (a room) registers in its `ROOM`: commands, kinds of records,
defences around a victim (`wrappers`), training methods (`methods`), kinds of models. The frame never names a room.
"""
