"""Cut a model folder into pieces for a machine that accepts only small files, and join them there.

python -m malaprop_bench.carry cut FOLDER PIECES     weights in half precision, in files of at most 56 MB
python -m malaprop_bench.carry join PIECES FOLDER    write the folder again
"""

from __future__ import annotations

import sys
from hashlib import sha256
from pathlib import Path

from malaprop.core.errors import MalapropError, SettingError

SIZE = 56 << 20
_ENDING = ".piece"


def cut(folder: Path, pieces: Path, size: int = SIZE) -> list[Path]:
    """Write every file of the folder as numbered pieces, safetensors in half precision; return their paths."""
    if not (folder / "config.json").is_file():
        raise SettingError(f"{folder} is no model folder: it holds no config.json")
    pieces.mkdir(parents=True, exist_ok=True)
    made = []
    for path in sorted(p for p in folder.iterdir() if p.is_file() and p.name != "asset.json"):
        raw = _halved(path) if path.suffix == ".safetensors" else path.read_bytes()
        mark = sha256(raw).hexdigest()[:12]
        for number, begin in enumerate(range(0, max(1, len(raw)), size)):
            made.append(pieces / f"{path.name}.{mark}.{number:03}{_ENDING}")
            made[-1].write_bytes(raw[begin : begin + size])
    return made


def join(pieces: Path, folder: Path) -> list[Path]:
    """Join the pieces and compare each file with its hash; return the paths of the files."""
    groups: dict[tuple[str, str], list[Path]] = {}
    for path in sorted(pieces.glob(f"*{_ENDING}")):
        name, mark, _ = path.name.removesuffix(_ENDING).rsplit(".", 2)
        groups.setdefault((name, mark), []).append(path)
    if not groups:
        raise SettingError(f"{pieces} holds no pieces; cut a folder first")
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for (name, mark), parts in groups.items():
        raw = b"".join(part.read_bytes() for part in parts)
        if sha256(raw).hexdigest()[:12] != mark:
            raise SettingError(f"the pieces of {name} do not make the file they were cut from; bring them all again")
        made.append(folder / name)
        made[-1].write_bytes(raw)
    return made


def _halved(path: Path) -> bytes:
    from safetensors.torch import load_file, save

    tensors = load_file(path)
    halved = {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in tensors.items()}
    return bytes(save(halved, metadata={"format": "pt"}))


def main(words: list[str]) -> int:
    if len(words) != 3 or words[0] not in ("cut", "join"):
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    try:
        made = (cut if words[0] == "cut" else join)(Path(words[1]), Path(words[2]))
    except MalapropError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{len(made)} files in {words[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
