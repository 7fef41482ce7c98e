#!/usr/bin/env python3
"""Writes a small llama-architecture GGUF (f16, random weights) that llama.cpp really loads and runs.

The vocabulary holds every word of picchio's own prompt as one token, so the prompt costs a tiny model
about as many tokens as it costs a published one. Needs the standard library only; the same arguments
give the same bytes.
"""

import argparse
import random
import re
import struct
import sys
from array import array
from pathlib import Path

ALIGNMENT = 32
SPACE = "\u2581"  # SentencePiece's visible blank
CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,;:!?'\"-()%/+="

# Used beside the prompt's own words, so that other plain English stays near one token a word too.
COMMON_WORDS = """
the of and to in a is that it for on as with was at by an be this from or have not are but had his they
she which you one we all were her would there their will when who him been has more if no out do so can
what up said about other into than its time only could new them man some these then two first may any
like now my such make over our even most me state after also made many did must before back see through
way where get much go well your know should down work year because come people just say each those take
day good how long little own number rate token tokens second prompt model answer machine memory weights
weight layer layers disk speed run pass case note page read write result results measure measured same
different which load whole order wrong right without word letter sentence paragraph text system window
cache context card engine device driver graphics processor question story write tell short hello world
"""


def prompt_words(source):
    """Words of every string literal of a C++ source, or none when the file does not exist."""
    if source is None or not source.exists():
        return []
    code = source.read_text(encoding="utf-8")
    literals = re.findall(r'R"\w*\((.*?)\)\w*"', code, re.DOTALL)
    literals += re.findall(r'"((?:[^"\\\n]|\\.)*)"', code)
    text = " ".join(re.sub(r"\\.|\{[^}]*\}", " ", literal) for literal in literals)
    return re.findall(r"[A-Za-z]+", text)


def vocabulary(words):
    """(pieces, scores, types) of a SentencePiece BPE vocabulary, in token order.

    llama.cpp merges neighbouring pieces, best score first. Only pieces that begin with the blank are
    longer than one character, so a word can only grow from its left end and always ends as one token.
    """
    pieces = [b"<unk>", b"<s>", b"</s>"] + [b"<0x%02X>" % byte for byte in range(256)]
    types = [2, 3, 3] + [6] * 256  # unknown, control, byte
    scores = [0.0] * len(pieces)
    seen = set(pieces)

    def add(piece, score):
        raw = piece.encode()
        if raw not in seen:
            seen.add(raw)
            pieces.append(raw)
            types.append(1)
            scores.append(score)

    add(SPACE, -1000.0)
    for character in CHARACTERS:
        add(character, -900.0)
        add(SPACE + character, -890.0)
    spellings = {form for word in words for form in (word, word.lower(), word.capitalize())}
    for spelling in sorted(spellings):
        for length in range(2, len(spelling) + 1):
            add(SPACE + spelling[:length], -400.0 + length)
    while len(pieces) % 64:  # row counts that every quantisation kernel likes
        add("filler%d" % len(pieces), -2000.0)
    return pieces, scores, types


class Gguf:
    """Collects metadata and tensors of a GGUF version 3 file, then writes it once."""

    UINT32, FLOAT32, STRING, ARRAY, INT32 = 4, 6, 8, 9, 5
    F32, F16 = 0, 1

    def __init__(self, seed):
        self.metadata = []
        self.tensors = []
        # One block of noise, a prime number of values long, repeated: no two rows are alike, and a
        # model of some hundred MiB takes seconds to write instead of minutes.
        noise = random.Random(seed)
        self.noise = struct.pack("<65521e", *(noise.gauss(0, 0.02) for _ in range(65521)))

    @staticmethod
    def text(value):
        raw = value if isinstance(value, bytes) else value.encode()
        return struct.pack("<Q", len(raw)) + raw

    def put(self, key, kind, payload):
        self.metadata.append(self.text(key) + struct.pack("<I", kind) + payload)

    def put_text(self, key, value):
        self.put(key, self.STRING, self.text(value))

    def put_uint(self, key, value):
        self.put(key, self.UINT32, struct.pack("<I", value))

    def put_float(self, key, value):
        self.put(key, self.FLOAT32, struct.pack("<f", value))

    def put_array(self, key, kind, count, payload):
        self.put(key, self.ARRAY, struct.pack("<IQ", kind, count) + payload)

    def matrix(self, name, *dims):
        self.tensors.append((name, dims, self.F16, None))

    def vector(self, name, dim, value=1.0):
        self.tensors.append((name, (dim,), self.F32, value))

    def tensor_bytes(self, dims, kind):
        count = 1
        for dim in dims:
            count *= dim
        return count * (4 if kind == self.F32 else 2)

    def write_tensor(self, out, dims, kind, value, start):
        size = self.tensor_bytes(dims, kind)
        if kind == self.F32:
            out.write(array("f", [value]).tobytes() * (size // 4))
            return
        # Each tensor begins at another place of the noise.
        offset = (start * 7919 * 2) % len(self.noise)
        ring = self.noise[offset:] + self.noise[:offset]
        whole, rest = divmod(size, len(ring))
        for _ in range(whole):
            out.write(ring)
        out.write(ring[:rest])

    def write(self, path):
        infos = []
        offset = 0
        for name, dims, kind, _ in self.tensors:
            infos.append(self.text(name) + struct.pack("<I", len(dims))
                         + struct.pack("<%dQ" % len(dims), *dims) + struct.pack("<IQ", kind, offset))
            size = self.tensor_bytes(dims, kind)
            offset += size + -size % ALIGNMENT
        head = b"GGUF" + struct.pack("<IQQ", 3, len(self.tensors), len(self.metadata))
        head += b"".join(self.metadata) + b"".join(infos)
        beside = path.with_name(path.name + ".part")
        with open(beside, "wb") as out:
            out.write(head + b"\0" * (-len(head) % ALIGNMENT))
            for number, (_, dims, kind, value) in enumerate(self.tensors):
                self.write_tensor(out, dims, kind, value, number)
                out.write(b"\0" * (-self.tensor_bytes(dims, kind) % ALIGNMENT))
        beside.replace(path)


def describe(gguf, options, tokens):
    """Metadata that llama.cpp asks of a llama model."""
    pieces, scores, types = tokens
    heads, kv_heads = options.dim // 32, options.dim // 64
    gguf.put_text("general.architecture", "llama")
    gguf.put_text("general.name", options.name)
    gguf.put_uint("general.file_type", 1)
    gguf.put_uint("llama.context_length", 8192)
    gguf.put_uint("llama.embedding_length", options.dim)
    gguf.put_uint("llama.block_count", options.layers)
    gguf.put_uint("llama.feed_forward_length", options.feed_forward)
    gguf.put_uint("llama.attention.head_count", heads)
    gguf.put_uint("llama.attention.head_count_kv", kv_heads)
    gguf.put_float("llama.attention.layer_norm_rms_epsilon", 1e-5)
    gguf.put_uint("llama.rope.dimension_count", options.dim // heads)
    gguf.put_uint("llama.vocab_size", len(pieces))
    if options.experts:
        gguf.put_uint("llama.expert_count", options.experts)
        gguf.put_uint("llama.expert_used_count", 2)
    gguf.put_text("tokenizer.ggml.model", "llama")
    gguf.put_array("tokenizer.ggml.tokens", Gguf.STRING, len(pieces),
                   b"".join(gguf.text(piece) for piece in pieces))
    gguf.put_array("tokenizer.ggml.scores", Gguf.FLOAT32, len(pieces),
                   struct.pack("<%df" % len(pieces), *scores))
    gguf.put_array("tokenizer.ggml.token_type", Gguf.INT32, len(pieces),
                   struct.pack("<%di" % len(pieces), *types))
    gguf.put_uint("tokenizer.ggml.bos_token_id", 1)
    gguf.put_uint("tokenizer.ggml.eos_token_id", 2)
    gguf.put_uint("tokenizer.ggml.unknown_token_id", 0)


def add_tensors(gguf, options, vocabulary_size):
    dim, feed_forward = options.dim, options.feed_forward
    kv_dim = dim // 2  # half as many key-value heads as heads
    gguf.matrix("token_embd.weight", dim, vocabulary_size)
    gguf.vector("output_norm.weight", dim)
    if not options.tied:
        gguf.matrix("output.weight", dim, vocabulary_size)
    for layer in range(options.layers):
        block = "blk.%d." % layer
        gguf.vector(block + "attn_norm.weight", dim)
        gguf.vector(block + "ffn_norm.weight", dim)
        gguf.matrix(block + "attn_q.weight", dim, dim)
        gguf.matrix(block + "attn_k.weight", dim, kv_dim)
        gguf.matrix(block + "attn_v.weight", dim, kv_dim)
        gguf.matrix(block + "attn_output.weight", dim, dim)
        if options.experts:
            gguf.matrix(block + "ffn_gate_inp.weight", dim, options.experts)
            gguf.matrix(block + "ffn_gate_exps.weight", dim, feed_forward, options.experts)
            gguf.matrix(block + "ffn_up_exps.weight", dim, feed_forward, options.experts)
            gguf.matrix(block + "ffn_down_exps.weight", feed_forward, dim, options.experts)
        else:
            gguf.matrix(block + "ffn_gate.weight", dim, feed_forward)
            gguf.matrix(block + "ffn_up.weight", dim, feed_forward)
            gguf.matrix(block + "ffn_down.weight", feed_forward, dim)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--name", default="Tiny Random")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--dim", type=int, default=256, help="a multiple of 256: K-quants need it")
    parser.add_argument("--feed-forward", type=int, help="default: three times --dim")
    parser.add_argument("--experts", type=int, default=0, help="0: a dense model")
    parser.add_argument("--tied", action="store_true", help="no output.weight: the embedding serves")
    parser.add_argument("--prompt-source", type=Path, help="C++ file whose string literals are the prompt")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.feed_forward is None:
        options.feed_forward = options.dim * 3
    if options.dim % 256 or options.feed_forward % 256:
        parser.error("--dim and --feed-forward must be multiples of 256")
    return options


def main():
    options = parse_arguments()
    words = COMMON_WORDS.split() + prompt_words(options.prompt_source)
    tokens = vocabulary(words)
    gguf = Gguf(options.seed)
    describe(gguf, options, tokens)
    add_tensors(gguf, options, len(tokens[0]))
    gguf.write(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
