"""Attacks: a goal, candidates, constraints and a search, composed into recipes."""

from malaprop.attacks.attack import (
    Attack,
    Candidates,
    Constraint,
    EditRule,
    Ending,
    Fallback,
    Own,
    PartRule,
    Search,
    SlotRule,
    TextRule,
    Together,
    WordRule,
    try_in_turn,
)
from malaprop.attacks.candidates.chars import CharEdits, Homoglyphs, VisualNeighbours
from malaprop.attacks.candidates.combined import Agreeing, Filtered, Union
from malaprop.attacks.candidates.lookup import (
    CloseSynonyms,
    Inflections,
    Listed,
    Misspellings,
    NearWords,
    Vocabulary,
    WordNetSynonyms,
    remembered,
)
from malaprop.attacks.candidates.masked import Likely, MaskedWords, MergedWords
from malaprop.attacks.candidates.rules import BySalience, RuleWords
from malaprop.attacks.candidates.unseen import Deletions, InvisibleCharacters, Reorderings
from malaprop.attacks.constraints.edits import (
    MaxChanged,
    MaxCharacters,
    MaxCharacterShare,
    MaxShare,
    MaxWords,
    OncePerSlot,
)
from malaprop.attacks.constraints.guards import KeepFunctionWords, KeepQuantities, SameForm, SamePolarity
from malaprop.attacks.constraints.language import KnownWords, LikelyInPlace, LikelyNext, PerplexityRatio
from malaprop.attacks.constraints.meaning import InContext, KeepNames, NotOpposed, OtherLexeme, Related
from malaprop.attacks.constraints.positions import FirstWords, KeepStopWords, KeepWords, LongWords
from malaprop.attacks.constraints.senses import FitsSense
from malaprop.attacks.constraints.similarity import BleuFloor, ChrfFloor, NoNewMistakes, SentenceCosine, TokenSimilarity
from malaprop.attacks.constraints.words import MeanVector, SamePart, SameTag, WordCosine
from malaprop.attacks.goals.goal import (
    Accepted,
    Confident,
    Doubtful,
    Goal,
    Kept,
    LabelOnly,
    LogitSum,
    Moved,
    Targeted,
    Untargeted,
)
from malaprop.attacks.gradient.flips import FlipBeam
from malaprop.attacks.gradient.mixture import TokenMixture
from malaprop.attacks.gradient.swaps import SignWalk, SwapBeam
from malaprop.attacks.judge import Judge
from malaprop.attacks.labels.hardgenetic import HardLabelGenetic
from malaprop.attacks.labels.walks import BorderWalk
from malaprop.attacks.quality import set_quality, tighten
from malaprop.attacks.ranking.order import (
    AnyOrder,
    ByAttention,
    ByGradient,
    LeaveOneOut,
    LeftToRight,
    Ranking,
    Saliency,
    UnknownWord,
    ZeroVector,
)
from malaprop.attacks.search.bayes import Bayes
from malaprop.attacks.search.beam import Beam
from malaprop.attacks.search.contextual import Contextual
from malaprop.attacks.search.differential import DifferentialEvolution
from malaprop.attacks.search.genetic import Genetic
from malaprop.attacks.search.greedy import FirstFound, Greedy, Projection
from malaprop.attacks.search.local import LocalSearch
from malaprop.attacks.search.noise import VisualNoise
from malaprop.attacks.search.oneword import Sweep
from malaprop.attacks.search.reduction import Reduction
from malaprop.attacks.search.rewrites import Rewrites
from malaprop.attacks.search.sampling import Blind, Exhaustive, Random
from malaprop.attacks.search.sentences import FromBest, Sentences
from malaprop.attacks.search.slips import Slips
from malaprop.attacks.search.swarm import Swarm
from malaprop.attacks.sentences.distract import Distract
from malaprop.attacks.sentences.rewriters import BackTranslation, Paraphrase, Rewriter
from malaprop.attacks.sentences.syntax import Syntax
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.attacks.validity import guards, set_validity

__all__ = [
    "Accepted",
    "Agreeing",
    "AnyOrder",
    "Attack",
    "BackTranslation",
    "Bayes",
    "Beam",
    "BleuFloor",
    "Blind",
    "BorderWalk",
    "ByAttention",
    "ByGradient",
    "BySalience",
    "Candidates",
    "CharEdits",
    "ChrfFloor",
    "CloseSynonyms",
    "Confident",
    "Constraint",
    "Contextual",
    "Deletions",
    "DifferentialEvolution",
    "Distract",
    "Doubtful",
    "EditRule",
    "Ending",
    "Exhaustive",
    "Fallback",
    "Filtered",
    "FirstFound",
    "FirstWords",
    "FitsSense",
    "FlipBeam",
    "FromBest",
    "Genetic",
    "Goal",
    "Greedy",
    "HardLabelGenetic",
    "Held",
    "Homoglyphs",
    "InContext",
    "Inflections",
    "InvisibleCharacters",
    "Judge",
    "KeepFunctionWords",
    "KeepNames",
    "KeepQuantities",
    "KeepStopWords",
    "KeepWords",
    "Kept",
    "KnownWords",
    "LabelOnly",
    "LeaveOneOut",
    "LeftToRight",
    "Likely",
    "LikelyInPlace",
    "LikelyNext",
    "Listed",
    "LocalSearch",
    "LogitSum",
    "LongWords",
    "MaskedWords",
    "MaxChanged",
    "MaxCharacterShare",
    "MaxCharacters",
    "MaxShare",
    "MaxWords",
    "MeanVector",
    "MergedWords",
    "Misspellings",
    "Moved",
    "NearWords",
    "NoNewMistakes",
    "NotOpposed",
    "OncePerSlot",
    "OtherLexeme",
    "Own",
    "Paraphrase",
    "PartRule",
    "PerplexityRatio",
    "Projection",
    "Random",
    "Ranking",
    "Reduction",
    "Related",
    "Reorderings",
    "Rewriter",
    "Rewrites",
    "RuleWords",
    "Saliency",
    "SameForm",
    "SamePart",
    "SamePolarity",
    "SameTag",
    "Search",
    "SentenceCosine",
    "Sentences",
    "SignWalk",
    "Slips",
    "SlotRule",
    "Space",
    "SwapBeam",
    "Swarm",
    "Sweep",
    "Syntax",
    "Targeted",
    "TextRule",
    "Together",
    "TokenMixture",
    "TokenSimilarity",
    "Trial",
    "Union",
    "UnknownWord",
    "Untargeted",
    "VisualNeighbours",
    "VisualNoise",
    "Vocabulary",
    "WordCosine",
    "WordNetSynonyms",
    "WordRule",
    "ZeroVector",
    "guards",
    "remembered",
    "set_quality",
    "set_validity",
    "tighten",
    "try_in_turn",
]
