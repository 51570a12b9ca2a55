"""A made-up record of a HotFlip study, some of its words hostile."""

from malaprop.frame.records import Rate
from malaprop.frame.records.summary import Spread
from malaprop.papers.hotflip.record import (
    Curve,
    HotFlipChange,
    HotFlipRecord,
    ModelResult,
    NearestWords,
    SpeedComparison,
)

STUDY = HotFlipRecord(
    model="CharCNN-LSTM",
    data="toy",
    texts=12,
    curves=(Curve(attack="beam", points=((0.0, Rate(9, 10)), (0.9, Rate(7, 10)))),),
    changes=(
        HotFlipChange(
            attack="beam",
            confidence=0.5,
            success=Rate(9, 10),
            share=Spread(0.04, 0.03),
            operations={"flip": 8, "insert": 1, "delete": 1},
        ),
        HotFlipChange(
            attack="key*", confidence=0.0, success=Rate(0, 10), share=Spread(None, None), operations={"flip": 0}
        ),
    ),
    hardened=(
        ModelResult(name="plain", about="", error=Rate(8, 100), success=Rate(9, 10), epochs=3, epoch_seconds=1.5),
        ModelResult(
            name="hotflip", about="Hardened: <b>.", error=Rate(7, 100), success=Rate(6, 10), epochs=3, epoch_seconds=3.0
        ),
    ),
    neighbours=(NearestWords(word="past", edited="pas!t", before=("last",), after=("<i>pasture", "pastor")),),
    moved=Rate(3, 4),
    economy=SpeedComparison(success=Rate(4, 5), exact_success=Rate(4, 5), seconds=0.5, exact_seconds=20.0),
)
