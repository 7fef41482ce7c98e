"""What the stand-in's model does: a prompt is read at one pace, tokens come at another, and both are timed."""
import re
import time

WORDS = ("The mill by the river grinds grain in three steps and every handful of flour must wait for the one before "
         "it while the cart goes to town").split()


class Broken(Exception):
    """The stream shall end in a fault that the kind has its own words for."""


def tokens_of(text):
    """A word, a mark or a run of blank lines is a token, and there is one at the beginning."""
    return ["<bos>"] + re.findall(r"\w+|[^\w\s]|\n+", text)


class Generation:
    """One request's work. After run() all of it can be told."""

    def __init__(self, world, exchange, prompt, n_predict):
        self.world, self.exchange = world, exchange
        options = world.options
        asked = n_predict if n_predict is not None and n_predict >= 0 else options.tokens or 128
        self.n_predict = options.tokens if options.tokens is not None else asked
        for fault, count in (("fewer-tokens", max(1, asked // 3)), ("no-tokens", 0)):
            if fault in exchange.faults:
                self.n_predict = count
        self.stopped_early = self.n_predict < asked
        self.prompt = tokens_of(prompt)
        self.cached = 0
        self.prefill_ms, self.rate = world.pace()
        self.began = time.monotonic_ns()

    def truncate(self, window, keep):
        """Cuts the prompt to what ollama would; returns (limit, length before) when it did."""
        if "truncated" in self.exchange.faults:
            window = min(window, 256)
        before = len(self.prompt)
        if before <= window - 1:
            return None
        limit = window - max((window - keep) // 2, 1)
        self.prompt = self.prompt[:keep] + self.prompt[keep + before - limit:]
        return limit, before

    def read_prompt(self, use_cache, on_progress=None):
        """Takes the time that the new part of the prompt takes."""
        world = self.world
        with world.lock:
            last = world.last_prompt if use_cache else []
            world.last_prompt = self.prompt
        same = 0
        while same < min(len(last), len(self.prompt)) and last[same] == self.prompt[same]:
            same += 1
        if "cached-prompt" in self.exchange.faults:
            same = len(self.prompt)
        self.cached = max(0, min(same, len(self.prompt) - 4))
        self.evaluated = len(self.prompt) - self.cached
        began = time.monotonic_ns()
        seconds = self.prefill_ms / 1000 * self.evaluated / max(1, len(self.prompt))
        parts = 4 if on_progress else 1
        for k in range(parts):
            if on_progress:
                on_progress(self.cached + self.evaluated * k // parts, len(self.prompt))
            self.world.sleep_until(began + int(1e9 * seconds * (k + 1) / parts))
        self.first_token_at = time.monotonic_ns()
        self.prompt_ns = self.first_token_at - began

    def texts(self):
        """Yields each chunk's text when it is due: the first at once, as the prompt's last step makes it."""
        world, faults = self.world, self.exchange.faults
        per_chunk = 4 if "several-a-chunk" in faults else 1
        breaks_at = max(1, self.n_predict // 3)
        self.count, chunk = 0, ""
        if "error-at-once" in faults:
            raise Broken
        while self.count < self.n_predict or "endless-stream" in faults:
            world.sleep_until(self.first_token_at + int(1e9 * self.count / self.rate))
            self.count += 1
            if not ("silent-tokens" in faults and self.count % 4 == 0):
                chunk += " " + WORDS[self.count % len(WORDS)]
            if chunk and self.count % per_chunk == 0:
                yield chunk
                chunk = ""
            if self.count == breaks_at:
                self._break(faults)
        if chunk:
            yield chunk
        self.done_at = time.monotonic_ns()
        self.eval_ns = self.done_at - self.first_token_at

    def _break(self, faults):
        if "stall-mid-stream" in faults:
            self.exchange.hang()
        if "cut-mid-stream" in faults:
            self.exchange.drop()
        if "reset-mid-stream" in faults:
            self.exchange.drop(reset=True)
        if "error-in-stream" in faults:
            raise Broken

    @property
    def stop(self):
        return "stop" if self.stopped_early else "length"
