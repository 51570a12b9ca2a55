"""The frame: how any study runs, is kept and is shown. Five things to know.

1. A study is a frozen settings class (`study.study.Study`). Its fields are the options of its command, the keys of its
   TOML file and the keywords of its function. `plan()` says which tasks there are, `gather(root)` makes the record from
   what the tasks left in the folder, `rows(record)` gives the figures for a table.

2. A task (`tasks.task.Task`) never writes: it yields what it finds. One executor (`tasks.executor`) hands tasks to
   workers, in this process, in several, or on a Ray cluster, and alone writes what they yield. What is on disk is done:
   that is all that resuming is (`tasks.outputs`, `tasks.running_task`).

3. A run (`runs`) is one attack over one dataset: `runs.victims.victim` loads what is attacked,
   `runs.make_attack.recipe` makes the attack, `runs.local.run` gives an outcome for each example, `runs.folder` writes.

4. A record (`records`) is a dataclass in one JSON file, of a kind that `records.kinds` knows: which class reads the
   file and which section shows it. Records that earlier versions wrote stay readable.

5. The report (`report.page`) is the sections of whatever records lie in a folder. A section gives HTML for the page and
   the same figures for a terminal, from the record alone.

    conduct(study) -> folder, study.toml -> plan -> tasks -> outputs -> gather -> record -> section -> report

Rooms above (features, papers, cli) add a study, a record kind, a section, a wrapper or a training method by naming them
in their own folder; nothing here names a room.
"""
