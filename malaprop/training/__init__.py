"""Training of every kind of model: one loop, one state on disk, one card.

A training never takes a step, it yields losses. A `TrainingTask` holds networks, `Stage`s and `ParameterGroup`s, each
with its `Schedule`; its `losses` is a generator that continues when the step for the last loss was taken (`fit`). Each
step draws from its own seed. So a folder keeps weights, optimisers, counters and a task's memories, and an interrupted
training ends on a CPU with the same bytes. A `Card` says what a model's folder holds; `find_card` reads older ones too.
"""
