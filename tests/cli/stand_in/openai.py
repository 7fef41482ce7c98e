"""The servers that speak OpenAI's routes, each with what it adds of its own."""
import time

import model

# What a request may hold; a server with the fault "strict" refuses the rest.
KNOWN = {"model", "messages", "prompt", "stream", "stream_options", "temperature", "max_tokens", "seed", "top_p",
         "stop"}


class OpenAi:
    """A plain one. The others change what it is called, its models, its usage, and add routes."""
    name, owner, busy = "openai", "someone", "server is busy"
    refusals = {"401": "Incorrect API key provided", "500": "the engine failed"}
    generation = ("/v1/chat/completions", "/v1/completions")
    head_fields = {"Server": "uvicorn"}
    always_there = ()  # paths that answer while the model is loading

    def __init__(self, world):
        self.world = world
        self.model = world.options.model or "tiny"
        self.started = time.monotonic()
        world.log_load()

    def error(self, exchange, status, text):
        exchange.json(status, {"error": {"message": text, "type": "invalid_request_error", "param": None,
                                         "code": status}})

    def unknown(self, exchange):
        exchange.json(404, {"detail": "Not Found"})

    def routes(self):
        """(method, path) -> what answers."""
        return {("GET", "/v1/models"): self.models} | {("POST", p): self.generate for p in self.generation}

    def handle(self, exchange):
        prefix = self.world.options.prefix
        route = self.routes().get((exchange.method, exchange.path.removeprefix(prefix)))
        (route if route and exchange.path.startswith(prefix) else self.unknown)(exchange)

    def names(self):
        more = ["second"] if "two-models" in self.world.options.fault else []
        return [] if "no-model-loaded" in self.world.options.fault else [self.model, *more]

    def model_row(self, name):
        return {"id": name, "object": "model", "created": 1764460800, "owned_by": self.owner}

    def models(self, exchange):
        exchange.json(200, {"object": "list", "data": [self.model_row(n) for n in self.names()]})

    # ---- generation ----

    def usage(self, work):
        return {"prompt_tokens": len(work.prompt), "completion_tokens": work.count,
                "total_tokens": len(work.prompt) + work.count}

    def finished(self, work):
        """Keeps what the server tells of it elsewhere."""

    def on_prompt(self, exchange):
        """What is sent while the prompt is read, or None."""
        return None

    def extra(self, work):
        """Fields that the last chunk has beside the usage."""
        return {}

    def prompt_of(self, request, chat):
        if chat:
            return "\n".join(str(m.get("content", "")) for m in request.get("messages", []))
        return str(request.get("prompt", request.get("text", "")))

    def generate(self, exchange):
        request = exchange.json_body()
        if request is None:
            self.error(exchange, 400, "the body is no JSON object")
            return
        if request.get("model") not in (None, *self.names()) and self.world.options.checks_model:
            self.error(exchange, 404, f"The model `{request['model']}` does not exist.")
            return
        odd = sorted(request.keys() - KNOWN)
        if "strict" in exchange.faults and odd:
            self.error(exchange, 400, f"Unrecognized request argument supplied: {odd[0]}")
            return
        chat = "chat" in exchange.path
        work = model.Generation(self.world, exchange, self.prompt_of(request, chat), request.get("max_tokens"))
        with self.world.burning():
            self.answer(exchange, request, work, chat)
        self.finished(work)

    def base(self, chat, streamed):
        kind = ("chat.completion" if chat else "text_completion") + (".chunk" if chat and streamed else "")
        return {"id": "cmpl-1f0c", "object": kind, "created": 1764460800, "model": self.model}

    def answer(self, exchange, request, work, chat):
        if not request.get("stream"):
            self.answer_whole(exchange, work, chat)
            return

        def begin():
            if not exchange.headers_sent:
                exchange.head(200, "text/event-stream; charset=utf-8")

        def chunk(text, reason=None, role=None):
            field = "reasoning_content" if self.world.options.thinking else "content"
            delta = ({"role": role} if role else {}) | ({field: text} if text or role else {})
            part = {"delta": delta} if chat else {"text": text}
            exchange.event({**self.base(chat, True), "choices": [{"index": 0, "finish_reason": reason} | part]})

        if self.on_prompt(exchange):
            begin()
        work.read_prompt(True, self.on_prompt(exchange))
        begin()
        if chat:
            chunk("", role="assistant")
        try:
            for text in work.texts():
                chunk(text)
        except model.Broken:
            exchange.event({"error": {"message": "the engine died", "type": "server_error", "code": 500}})
            exchange.end()
            return
        if "no-done" not in exchange.faults:
            chunk("", work.stop)
            wanted = (request.get("stream_options") or {}).get("include_usage") or self.always_usage
            if wanted and "no-usage" not in exchange.faults:
                exchange.event({**self.base(chat, True), "choices": [], "usage": self.usage(work)} | self.extra(work))
            exchange.event("[DONE]")
        exchange.end()

    always_usage = False

    def answer_whole(self, exchange, work, chat):
        work.read_prompt(True)
        try:
            text = "".join(work.texts())
        except model.Broken:
            self.error(exchange, 500, "the engine died")
            return
        part = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        exchange.json(200, {**self.base(chat, False), "choices": [{"index": 0, "finish_reason": work.stop} | part],
                            "usage": self.usage(work)} | self.extra(work))


class Vllm(OpenAi):
    name, owner = "vllm", "vllm"
    refusals = {"401": "Unauthorized", "500": "EngineCore encountered an issue"}

    def __init__(self, world):
        super().__init__(world)
        self.counters = dict.fromkeys(("prompt_tokens_total", "generation_tokens_total", "prefix_cache_queries_total",
                                       "prefix_cache_hits_total", "request_prefill_time_seconds_sum",
                                       "request_decode_time_seconds_sum", "time_to_first_token_seconds_sum",
                                       "request_prefill_time_seconds_count", "request_decode_time_seconds_count",
                                       "time_to_first_token_seconds_count", "request_queue_time_seconds_sum"), 0.0)

    def routes(self):
        return super().routes() | {("GET", "/version"): self.version, ("GET", "/health"): self.health,
                                   ("GET", "/metrics"): self.metrics}

    def version(self, exchange):
        exchange.json(200, {"version": self.world.options.version or "0.14.1"})

    def health(self, exchange):
        exchange.answer(200, b"", "text/plain")

    def model_row(self, name):
        return super().model_row(name) | {"root": name, "parent": None, "max_model_len": 32768}

    def finished(self, work):
        prefill, decode = work.prompt_ns / 1e9, work.eval_ns / 1e9
        with self.world.lock:
            for key, step in (("prompt_tokens_total", len(work.prompt)), ("generation_tokens_total", work.count),
                              ("prefix_cache_queries_total", len(work.prompt)),
                              ("prefix_cache_hits_total", work.cached),
                              ("request_prefill_time_seconds_sum", prefill),
                              ("request_decode_time_seconds_sum", decode), ("time_to_first_token_seconds_sum", prefill),
                              ("request_prefill_time_seconds_count", 1), ("request_decode_time_seconds_count", 1),
                              ("time_to_first_token_seconds_count", 1)):
                self.counters[key] += step

    def usage(self, work):
        return super().usage(work) | {"prompt_tokens_details": {"cached_tokens": work.cached}}

    def metrics(self, exchange):
        labels = f'{{engine="0",model_name="{self.model}"}}'
        gauges = {"num_requests_running": self.world.running, "num_requests_waiting": 0, "kv_cache_usage_perc": 0}
        text = "# HELP vllm:num_requests_running Number of requests in model execution batches.\n"
        for kind, values in (("gauge", gauges), ("counter", self.counters)):
            for key, value in values.items():
                name = key.rsplit("_", 1)[0] if key.endswith(("_sum", "_count")) else key
                shown = "histogram" if name != key else kind
                text += f"# TYPE vllm:{name} {shown}\nvllm:{key}{labels} {float(value)!r}\n"
        exchange.answer(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")


class Sglang(OpenAi):
    name, owner, generation = "sglang", "sglang", (*OpenAi.generation, "/generate")

    def __init__(self, world):
        super().__init__(world)
        self.prompt_tokens = self.generation_tokens = 0
        self.rate = 0.0

    def routes(self):
        info = {"model_path": self.model, "tokenizer_path": self.model, "is_generation": True}
        return super().routes() | {
            ("GET", "/get_model_info"): lambda e: e.json(200, info),
            ("GET", "/model_info"): lambda e: e.json(200, info),
            ("GET", "/get_server_info"): lambda e: e.json(200, info | {"version": "0.5.6", "internal_states": [
                {"last_gen_throughput": self.rate}]}),
            ("GET", "/health"): lambda e: e.answer(200, b"", "text/plain"),
            ("POST", "/flush_cache"): self.flush, ("GET", "/metrics"): self.metrics, ("POST", "/generate"): self.native}

    def flush(self, exchange):
        with self.world.lock:
            self.world.last_prompt = []
        exchange.answer(200, b"Cache flushed.\n", "text/plain")

    def finished(self, work):
        with self.world.lock:
            self.prompt_tokens += len(work.prompt)
            self.generation_tokens += work.count
            self.rate = 1e9 * work.count / max(1, work.eval_ns)

    def metrics(self, exchange):
        labels = f'{{model_name="{self.model}"}}'
        values = {"prompt_tokens_total": self.prompt_tokens, "generation_tokens_total": self.generation_tokens,
                  "gen_throughput": self.rate, "num_running_reqs": self.world.running, "cache_hit_rate": 0}
        exchange.answer(200, "".join(f"sglang:{k}{labels} {float(v)!r}\n" for k, v in values.items()).encode(),
                        "text/plain; version=0.0.4")

    def native(self, exchange):
        request = exchange.json_body() or {}
        asked = (request.get("sampling_params") or {}).get("max_new_tokens")
        work = model.Generation(self.world, exchange, str(request.get("text", "")), asked)
        work.read_prompt(True)
        text = ""

        def value():
            return {"text": text, "meta_info": {
                "id": "1", "finish_reason": {"type": work.stop}, "prompt_tokens": len(work.prompt), "completion_tokens":
                work.count, "cached_tokens": work.cached, "e2e_latency": (time.monotonic_ns() - work.began) / 1e9}}
        try:
            for piece in work.texts():
                text += piece
                if request.get("stream"):
                    if not exchange.headers_sent:
                        exchange.head(200, "text/event-stream")
                    exchange.event(value())
        except model.Broken:
            self.error(exchange, 500, "the engine died")
            return
        self.finished(work)
        if request.get("stream"):
            exchange.event("[DONE]")
            exchange.end()
        else:
            exchange.json(200, value())


class KoboldCpp(OpenAi):
    name, owner = "koboldcpp", "koboldcpp"
    head_fields = {"Server": "ConcedoLlamaForKoboldServer"}
    generation = (*OpenAi.generation, "/api/v1/generate", "/api/extra/generate/stream")
    busy = "Server is busy; please try again later."

    def __init__(self, world):
        super().__init__(world)
        self.last = {"last_process": 0, "last_eval": 0, "last_token_count": 0, "last_input_count": 0,
                     "last_process_time": 0, "last_eval_time": 0, "last_process_speed": 0, "last_eval_speed": 0}
        self.total = 0

    def error(self, exchange, status, text):
        exchange.json(status, {"detail": {"msg": text, "type": "service_unavailable" if status == 503 else "error"}})

    def routes(self):
        version = self.world.options.version or "1.104"
        return super().routes() | {
            ("GET", "/api/extra/version"): lambda e: e.json(200, {
                "result": "KoboldCpp", "version": version, "protected": bool(self.world.options.api_key),
                "llm": True, "txt2img": False, "vision": False, "transcribe": False, "multiplayer": False,
                "websearch": False, "tts": False, "embeddings": False, "admin": 0}),
            ("GET", "/api/v1/info/version"): lambda e: e.json(200, {"result": "1.2.5"}),
            ("GET", "/api/v1/model"): lambda e: e.json(200, {"result": "koboldcpp/" + self.model}),
            ("GET", "/api/extra/true_max_context_length"): lambda e: e.json(200, {"value": self.world.options.context}),
            ("GET", "/api/extra/perf"): self.perf, ("POST", "/api/v1/generate"): self.native,
            ("POST", "/api/extra/generate/stream"): self.native,
            ("GET", "/.well-known/serviceinfo"): lambda e: e.json(200, {"version": 0.2, "software": {
                "name": "KoboldCpp", "version": version, "repository": "", "homepage": "", "logo": ""}, "api": {}})}

    def model_row(self, name):
        return super().model_row("koboldcpp/" + name)

    def finished(self, work):
        prompt, decode = work.prompt_ns / 1e9, work.eval_ns / 1e9
        if "zero-durations" in self.world.options.fault:
            prompt = decode = 0
        counts = len(work.prompt), work.count
        self.last = {"last_process": 1e3 * prompt / max(1, counts[0]), "last_eval": 1e3 * decode / max(1, counts[1]),
                     "last_token_count": counts[1], "last_input_count": counts[0], "last_process_time": prompt,
                     "last_eval_time": decode, "last_process_speed": counts[0] / prompt if prompt else 0,
                     "last_eval_speed": counts[1] / decode if decode else 0}
        self.total += 1

    def perf(self, exchange):
        exchange.json(200, self.last | {
            "last_seed": 7, "last_draft_success": 0, "last_draft_failed": 0, "total_gens": self.total,
            "total_img_gens": 0, "total_tts_gens": 0, "total_transcribe_gens": 0, "stop_reason": 0,
            "queue": self.world.running, "idle": int(not self.world.running), "hordeexitcounter": 0,
            "uptime": time.monotonic() - self.started, "idletime": 0, "quiet": False})

    def native(self, exchange):
        request = exchange.json_body() or {}
        work = model.Generation(self.world, exchange, str(request.get("prompt", "")), request.get("max_length"))
        stream = exchange.path.endswith("stream")
        work.read_prompt(True)
        if stream:
            exchange.head(200, "text/event-stream")
        text = ""
        try:
            for piece in work.texts():
                text += piece
                if stream:
                    exchange.event({"token": piece, "finish_reason": None}, "message")
        except model.Broken:
            self.error(exchange, 500, "the engine died") if not stream else exchange.end()
            return
        self.finished(work)
        if stream:
            exchange.event({"token": "", "finish_reason": work.stop}, "message")
            exchange.end()
        else:
            exchange.json(200, {"results": [{"text": text, "finish_reason": work.stop, "prompt_tokens":
                                             len(work.prompt), "completion_tokens": work.count}]})


class TabbyApi(OpenAi):
    name, owner = "tabbyapi", "tabbyAPI"

    def routes(self):
        return super().routes() | {
            ("GET", "/health"): lambda e: e.json(200, {"status": "healthy", "issues": []}),
            ("GET", "/.well-known/serviceinfo"): lambda e: e.json(200, {"version": 0.1, "software": {
                "name": "TabbyAPI", "repository": "", "homepage": ""}, "api": {"openai": {"name": "OpenAI API"}}}),
            ("GET", "/v1/model"): lambda e: e.json(200, self.model_row(self.model) | {"parameters": {
                "max_seq_len": self.world.options.context, "cache_size": self.world.options.context}}),
            ("GET", "/props"): lambda e: e.json(200, {
                "total_slots": 1, "chat_template": "",
                "default_generation_settings": {"n_ctx": self.world.options.context}})}

    def usage(self, work):
        prompt, decode = work.prompt_ns / 1e9, work.eval_ns / 1e9
        rates = ("Indeterminate",) * 2
        if "zero-durations" not in self.world.options.fault and prompt and decode:
            rates = round(work.evaluated / prompt, 2), round(work.count / decode, 2)
        return super().usage(work) | {
            "prompt_time": round(prompt, 2), "prompt_tokens_per_sec": rates[0], "completion_time": round(decode, 2),
            "completion_tokens_per_sec": rates[1], "total_time": round(prompt + decode, 2)}


class Mlx(OpenAi):
    name, owner = "mlx", "someone"
    head_fields = {"Server": "BaseHTTP/0.6 Python/3.12.4"}

    def unknown(self, exchange):
        exchange.answer(404, b"Not Found", "text/html")

    def routes(self):
        return super().routes() | {("GET", "/health"): lambda e: e.json(200, {"status": "ok"})}

    def model_row(self, name):
        return {"id": name, "object": "model", "created": 1764460800}

    def on_prompt(self, exchange):
        return lambda done, total: exchange.chunk(f": keepalive {done}/{total}\n\n".encode())

    def usage(self, work):
        return super().usage(work) | {"prompt_tokens_details": {"cached_tokens": work.cached}}


class TextGenerationWebUi(OpenAi):
    name, owner = "text-generation-webui", "user"

    def routes(self):
        return super().routes() | {
            ("GET", "/v1/internal/health"): lambda e: e.json(200, {"status": "ok"}),
            ("GET", "/v1/internal/model/info"): lambda e: e.json(200, {"model_name": self.model, "lora_names": [],
                                                                       "loader": "llama.cpp"}),
            ("POST", "/v1/internal/token-count"): lambda e: e.json(200, {"length": len(model.tokens_of(str(
                (e.json_body() or {}).get("text", ""))))})}


KINDS = (OpenAi, Vllm, Sglang, KoboldCpp, TabbyApi, Mlx, TextGenerationWebUi)
