"""The engine runs many attacks side by side: it pools their requests, and caches and counts the answers.

- `drive` advances up to `width` attacks. It retries a failed round and halves it until the asks that fail alone are
  found; those examples end as `error` with the reason. A missing asset ends the run.
- `service`: `Scoring` wraps a victim with keys, memory, merging and counters. `UncachedScoring` asks the plain path and
  remembers nothing, to confirm every success. `FunctionService` wraps any other function. Two services answer
  gradients, and what one forward pass shows beside scores: attention, zeroed words, distances. A gradient of a text
  counts as one query asked and one text forwarded. `cache.Disk` keeps scores in SQLite.
- `paid` counts queries against the run's budget before each round; `LimitReached` passes through `drive`, which first
  lets the oldest attacks have what is left.
"""
