#!/usr/bin/env python3
"""Holds `picchio id` to what the real engine says of every type that its quantizer writes.

usage: quant_census.py PICCHIO RIG F16.gguf...

Each model is quantised to every file type that llama-quantize lists, with an importance matrix where one
can be made. For each file: the types and their tensors as the engine's own "- type" lines, bits per weight to
the last digit that it prints, the label, the file's bytes, and a clean audit. Last, the file in shards has
the same card as the whole. Prints one line a model, exits 1 at the first difference.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

CENSUS = re.compile(r"- type\s+(\S+):\s+(\d+) tensors")
SIZE = re.compile(r"file size\s+=\s+([\d.]+ [KMGT]iB) \(([\d.]+) BPW\)")
LABEL = re.compile(r"file type\s+=\s+(.+)")
LISTED = re.compile(r"^\s+\d+\s+or\s+(\S+)\s*:", re.M)


class Different(Exception):
    pass


def run(*command, env=None):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, errors="replace", env=env)


def engine_says(rig, model, env):
    """The loader's lines. The engine can exit before its log is out: then it is asked again."""
    for _ in range(8):
        done = run(rig / "bin" / "llama-completion", "-lv", "4", "-m", model, "-p", "a", "-n", "1", "-c", "256",
                   "-no-cnv", "--no-warmup", env=env)
        size = SIZE.search(done.stderr)
        if size:
            return (dict((kind, int(count)) for kind, count in CENSUS.findall(done.stderr)), size[2],
                    LABEL.search(done.stderr)[1].strip())
        if "error loading model" in done.stderr:
            return None
    raise Different(f"{model.name}: the engine printed no size: {done.stderr[-300:]}")


def card(picchio, model):
    done = run(picchio, "id", "--json", model)
    if done.returncode != 0:
        raise Different(f"{model.name}: picchio id exited {done.returncode}: {done.stderr[-300:]}")
    return json.loads(done.stdout)["cards"][0]


def check(picchio, rig, model, env):
    said = engine_says(rig, model, env)
    if said is None:
        return False
    census, bits, label = said
    seen = card(picchio, model)
    types = {row["type"]: row["tensors"] for row in seen["types"]}
    facts = {
        "types": (types, census),
        "bits per weight": (f"{seen['bits_per_weight']:.{len(bits.split('.')[1])}f}", bits),
        "label": (seen["claimed_words"], label),
        "bytes": (seen["file_bytes"], model.stat().st_size),
        "audit": (seen["audit"]["clean"], True),
        "bytes accounted for": (seen["files"][0]["data_offset"] + seen["audit"]["typed_bytes"] +
                                seen["audit"]["padding_bytes"] + seen["audit"]["trailing_bytes"],
                                model.stat().st_size),
    }
    for fact, (ours, theirs) in facts.items():
        if ours != theirs:
            raise Different(f"{model.name}: {fact}: {ours}, the engine says {theirs}")
    return True


def check_shards(picchio, rig, model, folder):
    done = run(rig / "bin" / "llama-gguf-split", "--split", "--split-max-tensors", "20", model, folder / "parts")
    shards = sorted(folder.glob("parts-*.gguf"))
    if done.returncode != 0 or len(shards) < 2:
        raise Different(f"llama-gguf-split failed: {done.stderr[-300:]}")
    whole = card(picchio, model)
    for given in shards:  # any of them stands for the set
        parts = card(picchio, given)
        for fact in ("types", "tensor_bytes", "elements", "bits_per_weight", "parts", "architecture", "claimed",
                     "tensors", "bytes_per_token", "tokenizer"):
            if parts[fact] != whole[fact]:
                raise Different(f"{given.name}: {fact}: {parts[fact]}, of the whole file {whole[fact]}")
    for shard in shards:
        shard.unlink()


def importance_matrix(rig, model, folder, env):
    text = folder / "text.txt"
    text.write_text("The mill by the river grinds grain in three steps. " * 200)
    matrix = folder / "model.imatrix"
    run(rig / "bin" / "llama-imatrix", "-m", model, "-f", text, "-o", matrix, "-c", "128", "--chunks", "4", env=env)
    return matrix if matrix.exists() else None


def census(picchio, rig, model, env):
    listed = LISTED.findall((lambda done: done.stdout + done.stderr)(run(rig / "bin" / "llama-quantize", "--help")))
    if len(listed) < 20:
        raise Different(f"llama-quantize lists only {listed}")
    checked, refused = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        matrix = importance_matrix(rig, model, folder, env)
        for kind in dict.fromkeys(listed):
            target = folder / f"{model.stem}.{kind}.gguf"
            guide = ["--imatrix", matrix] if matrix else []
            done = run(rig / "bin" / "llama-quantize", *guide, model, target, kind)
            if done.returncode != 0:
                refused.append(kind)
            else:
                (checked if check(picchio, rig, target, env) else refused).append(kind)
                if kind == "Q4_K_M":
                    check_shards(picchio, rig, target, folder)
            target.unlink(missing_ok=True)
    print(f"{model.name}: {len(checked)} file types agree with the engine; refused by it: "
          f"{', '.join(refused) or 'none'}")
    if len(checked) < 20 or "Q4_K_M" not in checked:
        raise Different(f"{model.name}: only {checked} could be checked")


def main():
    picchio, rig = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    # No GPU, however the machine is: what is read is the loader's word.
    env = dict(os.environ, VK_DRIVER_FILES=str(rig / "none" / "none.json"))
    try:
        for model in sys.argv[3:]:
            census(picchio, rig, pathlib.Path(model).resolve(), env)
    except Different as difference:
        sys.exit(f"quant_census.py: {difference}")


if __name__ == "__main__":
    main()
