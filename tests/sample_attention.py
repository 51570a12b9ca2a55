"""A small record of an attention study, made by hand."""

from __future__ import annotations

from malaprop.features.explain.record import (
    AttentionExample,
    AttentionLayer,
    AttentionMean,
    AttentionModel,
    AttentionRecord,
    Bound,
    Tail,
)

MEAN = AttentionMean(0.5, 0.4, 0.6, 9)


def study(**more) -> AttentionRecord:
    layer = AttentionLayer(number=1, relative=MEAN, elsewhere=MEAN, reach=MEAN, shift=None)
    sight = AttentionExample(
        model="m",
        before=("a", "<b>"),
        after=("a", "c"),
        changed=(1,),
        said=("no", "yes"),
        maps=((1, ((0.5, 0.5), (0.1, 0.9)), ((0.4, 0.6), (0.4, 0.6))),),
        variation=((0.0, 2.0), (0.5, 1.5)),
    )
    bound = Bound(
        where="sphere, Gaussian",
        dim=16,
        words=10,
        delta=0.5,
        bound=0.4,
        mean=0.1,
        signed=-0.001,
        exact=0.1,
        largest=0.2,
        over=0,
        cases=7,
        cosine=0.0,
        tails=(Tail(epsilon=1.0, share=0.0, markov=1.0),),
    )
    models = (
        AttentionModel(name="m", edits="gs-ec", texts=9, pooled=MEAN, layered=MEAN, layers=(layer,)),
        AttentionModel(name="m", edits="a random word", texts=9, pooled=None, layered=None, layers=()),
    )
    return AttentionRecord(data="d", recipe="gs-ec", texts=9, models=models, sights=(sight,), bounds=(bound,), **more)
