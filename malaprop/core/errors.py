"""The errors a user can meet. Each message is one line: what came, what was expected, what to do."""

from __future__ import annotations

# Libraries that the base install leaves out, and the extra that brings each.
EXTRAS = {
    "torch": "torch",
    "safetensors": "torch",
    "tokenizers": "torch",
    "transformers": "hf",
    "datasets": "hf",
    "gguf": "lm",
    "accelerate": "lm",
    "spacy": "lexicon",
    "gensim": "vectors",
    "onnxruntime": "onnx",
    "sklearn": "sklearn",
    "skops": "sklearn",
    "pyarrow": "parquet",
    "ray": "ray",
    "fastapi": "web",
    "jinja2": "web",
    "python_multipart": "web",
    "uvicorn": "web",
    "optuna": "tuning",
    "language_tool_python": "grammar",
    "mlflow": "track",
    "wandb": "track",
    "tensorboard": "track",
}


class MalapropError(Exception):
    """An error that the user can mend; the command line prints it in one line and exits with code 2."""


class SettingError(MalapropError):
    """A setting, name or option has a value that cannot be used."""


class DataError(MalapropError):
    """A file or a row is not what was expected."""


class TextError(DataError):
    """A value cannot be used as a text, such as a string with a lone surrogate."""


class AssetError(MalapropError):
    """A resource from outside is missing, broken, or may not be fetched."""


class VictimError(MalapropError):
    """A victim cannot be loaded, or its answer is not an array of scores."""


class NoMemoryError(VictimError):
    """The machine or its GPU has too little memory for a victim."""


class CapabilityError(MalapropError):
    """An attack needs what the victim does not offer."""


class RecordError(MalapropError):
    """A run folder cannot be read, written or continued."""


class LimitReached(MalapropError):  # noqa: N818 - it ends a run in the ordinary way
    """A limit of the run is reached; the outcomes so far are kept."""


def plain(error: BaseException) -> str:
    """Describe an exception in one line, for records and the terminal."""
    if extra := extra_of(error):
        library = getattr(error, "name", "")
        return f"this needs {library}, which is not installed; install it with: pip install 'malaprop[{extra}]'"
    words = " ".join(str(error).split()) or type(error).__name__
    return words if isinstance(error, MalapropError) else f"{type(error).__name__}: {words}"


def extra_of(error: BaseException) -> str | None:
    """Return the extra of the install that brings the library which could not be imported, if there is one."""
    return EXTRAS.get((error.name or "").partition(".")[0]) if isinstance(error, ModuleNotFoundError) else None


def short_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one that it wraps, is Python, torch or the device running out of memory."""
    while error is not None:
        if isinstance(error, MemoryError) or tells_of_memory(str(error)):
            return True
        error = error.__cause__
    return False


def tells_of_memory(words: str) -> bool:
    """Whether the words of an error say that memory was short."""
    words = words.lower()
    return any(said in words for said in ("out of memory", "can't allocate memory", "memoryerror"))
