"""llama-server as it talks, held against recorded/llama-server-*."""
import json
import time
from pathlib import Path

import model

RECORDED = Path(__file__).resolve().parent / "recorded" / "llama-server-0.7.0-b11669"
COUNTERS = ("prompt_tokens_total", "prompt_tokens_cached_total", "prompt_seconds_total", "tokens_predicted_total",
            "tokens_predicted_seconds_total", "n_decode_total", "n_tokens_max", "spec_decode_num_draft_tokens_total",
            "spec_decode_num_accepted_tokens_total", "spec_decode_num_drafts_total")
GAUGES = ("prompt_tokens_seconds", "predicted_tokens_seconds", "requests_processing", "requests_deferred",
          "n_busy_slots_per_decode")


def recorded(name):
    return json.loads((RECORDED / f"{name}.http").read_bytes().partition(b"\r\n\r\n")[2])


class LlamaServer:
    name, busy = "llama-server", "no slot available"
    refusals = {"401": "Invalid API Key", "404": "File Not Found", "500": "Compute error."}
    generation = ("/completion", "/completions", "/v1/completions", "/v1/chat/completions")
    head_fields = {"Server": "llama.cpp", "Access-Control-Allow-Origin": ""}
    always_there = ("/",)
    types = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error", 500: "server_error",
             501: "not_supported_error", 503: "unavailable_error"}

    def __init__(self, world):
        self.world = world
        self.model = world.options.model or "/models/tiny-Q4_K_M.gguf"
        self.window = world.options.context
        self.props, self.models = recorded("props"), recorded("models")
        self.router_props, self.router_rows = recorded("router-props"), recorded("router-models")["data"]
        self.totals = dict.fromkeys(COUNTERS, 0)
        # Of a router: its models are loaded from one moment on, until another.
        self.loads_at = {self.model: (0, None)} if world.options.loaded else {}
        world.log_load()

    def error(self, exchange, status, text):
        exchange.json(status, {"error": {"message": text, "type": self.types.get(status, "server_error"),
                                         "code": status}})

    def handle(self, exchange):
        path = exchange.path.removeprefix(self.world.options.prefix)
        gets = {"/health": self.health, "/v1/health": self.health, "/props": self.get_props, "/slots": self.get_slots,
                "/metrics": self.metrics, "/models": self.get_models, "/v1/models": self.get_models}
        posts = {p: self.generate for p in self.generation} | {
            "/tokenize": self.tokenize, "/models/load": self.load_model, "/models/unload": self.unload_model}
        route = (gets if exchange.method in ("GET", "HEAD") else posts).get(path)
        if route is None or not exchange.path.startswith(self.world.options.prefix):
            self.error(exchange, 404, "File Not Found")
            return
        route(exchange)

    def health(self, exchange):
        exchange.json(200, {"status": "ok"})

    def names(self):
        more = ["second-Q4_K_M"] if "two-models" in self.world.options.fault else []
        return [] if "no-model-loaded" in self.world.options.fault else [self.model, *more]

    def get_props(self, exchange):
        router = self.world.options.router
        if router and not exchange.query.get("model"):
            exchange.json(200, self.router_props)
            return
        if router and not self.routed(exchange, exchange.query["model"]):
            return
        value = dict(self.props, model_path=self.model, model_alias=self.model, total_slots=self.world.options.slots)
        value["default_generation_settings"] = dict(value["default_generation_settings"], n_ctx=self.window)
        exchange.json(200, value)

    def status(self, name):
        begin, end = self.loads_at.get(name, (None, None))
        if begin is None or (end is not None and time.monotonic() >= end):
            return "unloaded"
        return "loaded" if time.monotonic() >= begin else "loading"

    def begin_load(self, name):
        if self.status(name) == "unloaded":
            self.loads_at[name] = (time.monotonic() + self.world.options.load_ms / 1000, None)

    def routed(self, exchange, name):
        """A request that names a model waits until it is loaded, a GET as well. False: it was answered."""
        if name not in self.names():
            exchange.json(400, {"error": {"code": 400, "message": f"model '{name}' not found" if name else
                                          "model name is missing from the request", "type": "invalid_request_error"}})
            return False
        self.begin_load(name)
        while self.status(name) != "loaded":
            self.world.wait(0.005)
        return True

    def get_slots(self, exchange):
        if self.world.options.router and not self.routed(exchange, exchange.query.get("model", "")):
            return
        world = self.world
        with world.lock:
            world.looks_at_slots += 1
            looked = world.looks_at_slots
        every = world.options.busy_every
        busy = ("503-busy" in world.options.fault or world.options.busy_slots or
                (1 if every and looked % every == 0 else 0))
        rows = [{"id": k, "n_ctx": self.window, "speculative": bool(self.world.options.drafts), "is_processing": bool(
            self.world.running if k == 0 else 0) or k < (busy or 0)} for k in range(self.world.options.slots)]
        exchange.json(200, rows)

    def metrics(self, exchange):
        if not self.world.options.metrics:
            self.error(exchange, 501, "This server does not support metrics endpoint. Start it with `--metrics`")
            return
        def rate(tokens, seconds):
            return self.totals[tokens] / self.totals[seconds] if self.totals[seconds] else 0
        gauges = dict.fromkeys(GAUGES, 0) | {
            "requests_processing": self.world.running,
            "prompt_tokens_seconds": rate("prompt_tokens_total", "prompt_seconds_total"),
            "predicted_tokens_seconds": rate("tokens_predicted_total", "tokens_predicted_seconds_total")}
        text = ""
        for kind, values in (("counter", self.totals), ("gauge", gauges)):
            text += "".join(f"# HELP llamacpp:{k} {k}.\n# TYPE llamacpp:{k} {kind}\nllamacpp:{k} {v:g}\n"
                            for k, v in values.items())
        exchange.answer(200, text.encode(), "text/plain; version=0.0.4")

    def get_models(self, exchange):
        rows = []
        for name in self.names():
            row = dict(self.models["data"][0], id=name, aliases=[name])
            if self.world.options.router:
                row = dict(self.router_rows[0], id=name)
                row["status"] = dict(row["status"], value=self.status(name))
            rows.append(row)
        if self.world.options.router:
            exchange.json(200, {"data": rows, "object": "list"})
            return
        names = [dict(self.models["models"][0], name=n, model=n) for n in self.names()]
        exchange.json(200, {"models": names, "object": "list", "data": rows})

    def load_model(self, exchange):
        name = (exchange.json_body() or {}).get("model")
        if not self.world.options.router or name not in self.names():
            self.error(exchange, 404, "File Not Found")
            return
        self.begin_load(name)  # which goes on after the answer
        exchange.json(200, {"success": True})

    def unload_model(self, exchange):
        name = (exchange.json_body() or {}).get("model")
        begin, end = self.loads_at.get(name, (None, None))
        if begin is not None and end is None and "never-unloads" not in self.world.options.fault:
            self.loads_at[name] = (begin, time.monotonic() + self.world.options.unload_ms / 1000)
        exchange.json(200, {"success": True})

    def tokenize(self, exchange):
        text = str((exchange.json_body() or {}).get("content", ""))
        exchange.json(200, {"tokens": list(range(len(model.tokens_of(text)) - 1))})

    # ---- generation ----

    def generate(self, exchange):
        request = exchange.json_body()
        if request is None:
            self.error(exchange, 400, "[json.exception.parse_error.101] parse error at line 1, column 1: syntax error "
                       "while parsing value - unexpected end of input; expected '[', '{', or a literal")
            return
        chat = exchange.path.endswith("chat/completions")
        prompt = "\n".join(str(m.get("content", "")) for m in request.get("messages", [])) if chat else \
            str(request.get("prompt", ""))
        if self.world.options.router and not self.routed(exchange, request.get("model", "")):
            return
        work = model.Generation(self.world, exchange, prompt, request.get("n_predict", request.get("max_tokens")))
        if len(work.prompt) >= self.window:
            exchange.json(400, {"error": {
                "code": 400, "message": f"request ({len(work.prompt)} tokens) exceeds the available context size "
                f"({self.window} tokens), try increasing it", "type": "exceed_context_size_error",
                "n_prompt_tokens": len(work.prompt), "n_ctx": self.window}})
            return
        with self.world.burning():
            self.stream(exchange, request, work, chat)

    def timings(self, exchange, work):
        prompt_ms, predicted_ms = work.prompt_ns / 1e6, work.eval_ns / 1e6
        evaluated = work.evaluated
        if "zero-durations" in exchange.faults:
            prompt_ms = predicted_ms = 0.0
        value = {"cache_n": work.cached, "prompt_n": evaluated, "prompt_ms": prompt_ms,
                 "prompt_per_token_ms": prompt_ms / max(1, evaluated),
                 "prompt_per_second": 1e3 * evaluated / prompt_ms if prompt_ms else 0,
                 "predicted_n": work.count, "predicted_ms": predicted_ms,
                 "predicted_per_token_ms": predicted_ms / max(1, work.count),
                 "predicted_per_second": 1e3 * work.count / predicted_ms if predicted_ms else 0}
        if self.world.options.drafts:
            accepted = work.count * self.world.options.drafts // 100
            value |= {"draft_n": work.count, "draft_n_accepted": accepted}
        return value

    def stream(self, exchange, request, work, chat):
        streamed = request.get("stream", False)
        native = not exchange.path.removeprefix(self.world.options.prefix).startswith("/v1/")
        pieces, form = [], Native(self, work) if native else OpenAi(self, chat)

        def progress(done, total):
            if streamed and request.get("return_progress"):
                self.begin(exchange)
                exchange.event({"index": 0, "content": "", "tokens": [], "stop": False, "prompt_progress": {
                    "total": total, "cache": work.cached, "processed": done,
                    "time_ms": (time.monotonic_ns() - work.began) / 1e6}})
        work.read_prompt(request.get("cache_prompt", True), progress)
        try:
            for text in work.texts():
                pieces.append(text)
                if streamed:
                    if not exchange.headers_sent and chat:
                        self.begin(exchange)
                        exchange.event(form.chunk({"role": "assistant", "content": None}))
                    self.begin(exchange)
                    exchange.event(form.piece(text))
        except model.Broken:
            self.fail(exchange, "Compute error.")
            return
        with self.world.lock:
            self.totals["prompt_tokens_total"] += work.evaluated
            self.totals["prompt_tokens_cached_total"] += work.cached
            self.totals["prompt_seconds_total"] += work.prompt_ns / 1e9
            self.totals["tokens_predicted_total"] += work.count
            self.totals["tokens_predicted_seconds_total"] += work.eval_ns / 1e9
        self.world.log_request(work)
        timings = {} if "no-durations" in exchange.faults else {"timings": self.timings(exchange, work)}
        if not streamed:
            exchange.json(200, form.whole("".join(pieces), work, timings))
            return
        self.begin(exchange)
        if "no-done" not in exchange.faults:
            for value in form.last(work, timings, request):
                exchange.event(value)
        exchange.end()

    def begin(self, exchange):
        if not exchange.headers_sent:
            exchange.head(200, "text/event-stream")

    def fail(self, exchange, text):
        if exchange.headers_sent or "error-at-once" in exchange.faults:
            self.begin(exchange)
            exchange.event({"error": {"code": 500, "message": text, "type": "server_error"}})
            exchange.end()
        else:
            self.error(exchange, 500, text)


class Native:
    """The lines of /completion."""

    def __init__(self, server, work):
        self.server, self.work, self.count = server, work, 0

    def chunk(self, delta):
        return delta

    def piece(self, text):
        self.count += 1
        return {"index": 0, "content": text, "tokens": [1000 + self.count], "stop": False, "id_slot": -1,
                "tokens_predicted": self.work.count, "tokens_evaluated": len(self.work.prompt)}

    def whole(self, text, work, timings):
        return {"index": 0, "content": text, "tokens": [], "id_slot": 0, "stop": True, "model": self.server.model,
                "tokens_predicted": work.count, "tokens_evaluated": len(work.prompt), "truncated": "truncated" in
                self.server.world.options.fault, "stop_type": "eos" if work.stopped_early else "limit",
                "stopping_word": "", "tokens_cached": len(work.prompt) + work.count} | timings

    def last(self, work, timings, request):
        yield self.whole("", work, timings)


class OpenAi:
    """The chunks of /v1/..., with llama-server's timings on the last one."""

    def __init__(self, server, chat):
        self.server, self.chat = server, chat

    def base(self):
        return {"id": "chatcmpl-HjDO6I9WWiItcOkXP4Zmc98h25PNVd7G", "created": 1764460800, "model": self.server.model,
                "system_fingerprint": "b11669-Debian",
                "object": "chat.completion.chunk" if self.chat else "text_completion"}

    def chunk(self, delta, reason=None):
        part = {"delta": delta} if self.chat else {"text": delta.get("content") or "", "logprobs": None}
        return {"choices": [{"finish_reason": reason, "index": 0} | part]} | self.base()

    def piece(self, text):
        return self.chunk({"reasoning_content" if self.server.world.options.thinking else "content": text})

    def usage(self, work):
        return {"completion_tokens": work.count, "prompt_tokens": len(work.prompt),
                "total_tokens": work.count + len(work.prompt), "prompt_tokens_details": {"cached_tokens": work.cached}}

    def whole(self, text, work, timings):
        part = {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
        return {"choices": [{"finish_reason": work.stop, "index": 0} | part]} | self.base() | {
            "object": "chat.completion" if self.chat else "text_completion", "usage": self.usage(work)} | timings

    def last(self, work, timings, request):
        yield self.chunk({}, work.stop) | ({} if request.get("stream_options") else timings)
        if (request.get("stream_options") or {}).get("include_usage"):
            yield {"choices": []} | self.base() | {"usage": self.usage(work)} | timings
        yield "[DONE]"
