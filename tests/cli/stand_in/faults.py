"""What can be wrong with a server, by name: the table that `server.py --fault NAME` and the tests choose from.

A fault acts in one of four places: before the server listens as it should (`Socket`), on a whole answer (`Answer`), on
the JSON values of an answer (`Values`), or in what the model does (`Model`, which the kinds ask about by name).
"""
import json

ESCAPES = "\x1b[2J\x1b[31m\x1b]0;owned\x07\r\nVERDICT: HEALTHY. All of it.\n"
# Words of the protocols themselves: with these changed nothing would be recognised, and nothing tested.
KEEP = {"object", "type", "done_reason", "finish_reason", "role", "owned_by", "result", "created_at", "event",
        "capabilities"}

SOCKET = {
    "refuse": "nothing listens on the port",
    "hang-connect": "the connection is never accepted, as behind a firewall that drops",
    "reset": "every connection is reset before an answer",
}
ANSWER = {
    "stall-before-first-byte": "the request is taken and never answered",
    "drip": "one byte a second",
    "endless-body": "the body never ends",
    "giant-line": "a GiB without a newline",
    "giant-header": "a header line of 64 MiB",
    "not-http": "an answer in another protocol",
    "empty-body": "status 200 and nothing",
    "html": "status 200 and a web page",
    "redirect": "307 to another host",
    "401": "the key is missing or wrong", "403": "forbidden", "404": "not found", "500": "internal error",
    "503-loading-then-ready": "503 for a while, then fine", "503-busy": "503 for ever",
}
VALUES = {
    "invalid-utf8": "bytes that are no UTF-8 in every string",
    "escapes": "terminal escapes and newlines in every string",
    "wrong-types": "another type in every field, see --twist",
}
MODEL = {
    "stall-mid-stream": "after a third of the tokens nothing comes",
    "cut-mid-stream": "after a third of the tokens the connection ends",
    "reset-mid-stream": "after a third of the tokens the connection is reset",
    "endless-stream": "tokens without end, whatever was asked",
    "error-in-stream": "after a third of the tokens the line of an error, under HTTP 200",
    "error-at-once": "the only line of the stream is an error, under HTTP 200",
    "no-done": "the stream ends as it should, but without its last line",
    "fewer-tokens": "a third of the tokens that were asked for",
    "no-tokens": "no token at all",
    "silent-tokens": "every fourth token has no text and makes no line",
    "several-a-chunk": "four tokens in each line",
    "zero-durations": "every duration and count is 0",
    "no-durations": "no durations and no counts at all",
    "cached-prompt": "nearly all of the prompt comes from a cache, whatever it is",
    "truncated": "the prompt is cut to half a small window",
    "claims-gpu": "the server says 100% GPU; the log says CPU",
    "zero-of-zero": "the server says 0 of 0 bytes are on the GPU",
    "never-unloads": "the model stays, whatever is asked",
    "cloud-model": "the model runs on somebody else's machine",
    "no-model-loaded": "no model is there",
    "two-models": "a second model is loaded",
    "no-usage": "no token counts in the stream",
    "no-prompt-end": "the event that ends the prompt is left out",
    "strict": "400 for a request field that is not known",
}
ALL = SOCKET | ANSWER | VALUES | MODEL


class Raw(float):
    """A number that is written as its text."""

    def __new__(cls, text):
        self = float.__new__(cls, 0)
        self.text = text
        return self


# How a value of each kind is replaced: (for a number, for a string, for an array, for an object, for a boolean)
TWISTS = {
    "string": ("12", None, "a string", "a string", "yes"),
    "null": (None,) * 5,
    "negative": (-1, -1, -1, -1, -1),
    "huge": (Raw("1e999"), Raw("1e999"), Raw("1e999"), Raw("1e999"), Raw("1e999")),
    "nan": (Raw("NaN"),) * 5,
    "long": (Raw("9" * 400),) * 5,
    "fraction": (Raw("0.5"),) * 5,
    "array": ([[]],) * 5,
    "object": ({"a": {}},) * 5,
    "boolean": (True,) * 5,
}


def twisted(value, twist, inside=False):
    """The value with every leaf, and with it every inner array and object, of another type."""
    number, text, array, table, truth = TWISTS[twist]
    if isinstance(value, dict):
        return {k: v if k in KEEP else twisted(v, twist, True) for k, v in value.items()}
    if isinstance(value, list):
        # An inner list keeps its form when it has rows to be spoilt in turn, or nothing behind it would be reached.
        rows = [v for v in value if isinstance(v, (dict, list))]
        return [twisted(v, twist, True) for v in value] if rows else (array if inside else value)
    if isinstance(value, bool):
        return truth
    if isinstance(value, (int, float)):
        return number
    return text if isinstance(value, str) else table


def strings(value, change):
    if isinstance(value, dict):
        return {k: v if k in KEEP else strings(v, change) for k, v in value.items()}
    if isinstance(value, list):
        return [strings(v, change) for v in value]
    return change(value) if isinstance(value, str) else value


def raw_numbers(value):
    if isinstance(value, dict):
        return {k: raw_numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return [raw_numbers(v) for v in value]
    return f"<<{value.text}>>" if isinstance(value, Raw) else value


def encode(value, faults, twist):
    """One JSON value as the server with these faults would write it."""
    if "wrong-types" in faults:
        value = twisted(value, twist)
    if "escapes" in faults:
        value = strings(value, lambda text: text + ESCAPES)
    if "invalid-utf8" in faults:
        value = strings(value, lambda text: text + "<<bad>>")
    data = json.dumps(raw_numbers(value), separators=(",", ":")).encode()
    for mark, end in ((b'"<<', b'>>"'),):
        while (at := data.find(mark)) >= 0:
            stop = data.index(end, at)
            data = data[:at] + data[at + len(mark):stop] + data[stop + len(end):]
    return data.replace(b"<<bad>>", b"\xff\xc3(\xed\xa0\x80")
