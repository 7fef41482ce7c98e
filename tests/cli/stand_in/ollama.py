"""ollama as it talks, held against recorded/ollama-*."""
import datetime
import hashlib
import json
import re
import time
from pathlib import Path

import model

RECORDED = Path(__file__).resolve().parent / "recorded"
RELOADING = ("num_ctx", "num_batch", "num_gpu", "main_gpu", "use_mmap", "num_thread", "draft_num_predict")
INTEGERS = ("num_ctx", "num_predict", "num_keep", "num_batch", "num_gpu", "num_thread", "seed", "top_k",
            "repeat_last_n")
# What of the engine's buffers each placement's recorded log puts where: (bytes in all, bytes on the GPU)
PLACED = {"cpu": (0, 0), "llvmpipe": (68105010, 68105010), "cuda": (68105010, 68105010),
          "partial": (68105010, 34052505)}


def recorded(path):
    """Body of a recorded answer."""
    return (RECORDED / path).read_bytes().partition(b"\r\n\r\n")[2]


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"



def digest_of(name):
    """Of a manifest: names with another text are other models here."""
    return hashlib.sha256(name.encode()).hexdigest()


class Ollama:
    name, busy = "ollama", "server busy, please try again.  maximum pending requests exceeded"
    refusals = {"401": "unauthorized", "403": "ollama cloud is disabled: remote inference is unavailable",
                "404": "model 'tiny' not found", "500": "llama runner process has terminated: exit status 2"}
    generation, head_fields, always_there = ("/api/generate", "/api/chat"), {}, ()

    def __init__(self, world):
        self.world = world
        options = world.options
        self.model = options.model or "tiny:latest"
        self.version = options.version or "0.33.0-rc2"
        self.numbers = tuple(int(n) for n in re.findall(r"\d+", self.version)[:3])
        self.show = json.loads(recorded("ollama-0.33.0-rc2/llvmpipe/show.http"))
        self.loaded = {}  # name -> (options that need a reload, expires, window)
        if options.loaded:
            self.loaded[self.model] = (None, 300, 4096)  # another client's options: any request of ours reloads
            world.log_load()
            world.runner_start()
        if "two-models" in options.fault:
            self.loaded["other:7b"] = ({}, 300, 4096)
        self.gone_at = {}

    def error(self, exchange, status, text):
        value = {"error": text}
        if status == 401:
            value["signin_url"] = "https://ollama.com/connect?name=host&key=c3NoLWVkMjU1MTk"
        exchange.json(status, value)

    def names(self):
        return [] if "no-model-loaded" in self.world.options.fault else [self.model]

    def known(self, asked):
        asked = str(asked or "")
        full = asked if ":" in asked.rpartition("/")[2] else asked + ":latest"
        return full if full in self.names() else None

    # ---- routes ----

    def handle(self, exchange):
        routes = {"/": ("GET", self.root), "/api/version": ("GET", self.get_version), "/api/tags": ("GET", self.tags),
                  "/api/ps": ("GET", self.ps), "/api/show": ("POST", self.post_show),
                  "/api/generate": ("POST", self.generate), "/api/chat": ("POST", self.generate),
                  "/v1/models": ("GET", self.openai_models)}
        if exchange.path not in routes:
            exchange.answer(404, b"404 page not found", "text/plain")
            return
        method, route = routes[exchange.path]
        if exchange.method != method and not (method == "GET" and exchange.method == "HEAD"):
            exchange.answer(405, b"405 method not allowed", "text/plain")
            return
        route(exchange)

    def root(self, exchange):
        exchange.answer(200, b"Ollama is running", "text/plain; charset=utf-8")

    def get_version(self, exchange):
        exchange.json(200, {"version": self.version})

    def row(self, name):
        details = dict(self.show["details"], context_length=8192, embedding_length=256)
        row = {"name": name, "model": name, "modified_at": now(), "size": 4376376, "digest": digest_of(name),
               "details": details, "capabilities": self.capabilities()}
        if "cloud-model" in self.world.options.fault:
            row |= {"remote_model": "tiny", "remote_host": "https://ollama.com:443", "size": 384}
        return row

    def capabilities(self):
        return ["completion", "thinking"] if self.world.options.thinking else ["completion"]

    def tags(self, exchange):
        exchange.json(200, {"models": [self.row(name) for name in self.names()]})

    def openai_models(self, exchange):
        exchange.json(200, {"object": "list", "data": [{"id": n, "object": "model", "created": 1764460800,
                                                        "owned_by": "library"} for n in self.names()]})

    def post_show(self, exchange):
        name = self.known((exchange.json_body() or {}).get("model"))
        if name is None:
            asked = (exchange.json_body() or {}).get("model", "")
            self.error(exchange, 404, f"model '{asked if ':' in asked else asked + ':latest'}' not found")
            return
        value = dict(self.show, capabilities=self.capabilities())
        if self.world.options.blob:
            value["modelfile"] = re.sub(r"FROM /\S+", "FROM " + self.world.options.blob, value["modelfile"])
        if "cloud-model" in self.world.options.fault:
            value |= {"remote_model": "tiny", "remote_host": "https://ollama.com:443"}
        exchange.json(200, value)

    def ps(self, exchange):
        models = []
        size, vram = PLACED[self.world.options.placement]
        if "claims-gpu" in self.world.options.fault or self.world.options.claim is not None:
            share = 100 if "claims-gpu" in self.world.options.fault else self.world.options.claim
            size = size or 287781682
            vram = int(size * share / 100)
        if "zero-of-zero" in self.world.options.fault:
            size = vram = 0
        with self.world.lock:
            shown = {n: v for n, v in self.loaded.items()}
            shown.update({n: v for n, (at, v) in self.gone_at.items() if time.monotonic() < at})
        for name, (_, _, window) in shown.items():
            details = {k: self.show["details"][k] for k in
                       ("parent_model", "format", "family", "families", "parameter_size", "quantization_level")}
            expires = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=300)
            models.append({"name": name, "model": name, "size": size, "digest": digest_of(name), "details": details,
                           "expires_at": expires.isoformat().replace("+00:00", "000Z"), "size_vram": vram,
                           "context_length": window})
        exchange.json(200, {"models": models})

    # ---- generation ----

    def refusal(self, request, name):
        """(status, text) of a request that is refused before anything is loaded."""
        wrong = next((o for o in INTEGERS if not isinstance(request.get("options", {}).get(o, 0), (int, float))), None)
        if "cloud-model" in self.world.options.fault:
            return 401, "unauthorized"
        if name is None:
            return 404, f"model '{request.get('model', '')}' not found"
        if request.get("raw") and (request.get("system") or request.get("template") or request.get("context")):
            return 400, "raw mode does not support template, system, or context"
        if request.get("think") and not self.world.options.thinking:
            return 400, f"\"{request.get('model')}\" does not support thinking"
        if wrong:
            return 500, f"option \"{wrong}\" must be of type integer"
        return None

    def generate(self, exchange):
        request = exchange.json_body()
        if request is None:
            self.error(exchange, 400, "unexpected EOF" if exchange.body else "missing request body")
            return
        name = self.known(request.get("model"))
        refused = self.refusal(request, name)
        chat = exchange.path == "/api/chat"
        prompt = "\n".join(m.get("content", "") for m in request.get("messages", [])) if chat else \
            request.get("prompt", "")
        if refused:
            self.error(exchange, *refused)
        elif not prompt and str(request.get("keep_alive", "")) in ("0", "0s"):
            self.unload(name)
            exchange.json(200, self.line(request, done=True, done_reason="unload"))
        else:
            self.run(exchange, request, name, prompt)

    def unload(self, name):
        if "never-unloads" in self.world.options.fault:
            return
        with self.world.lock:
            was = self.loaded.pop(name, None)
            self.world.last_prompt = []
            if was:
                self.gone_at[name] = (time.monotonic() + self.world.options.unload_ms / 1000, was)
        self.world.runner_stop(self.world.options.unload_ms / 1000)

    def load(self, name, options, window):
        """Loads unless it is there as asked; says whether it had to."""
        wanted = {k: v for k, v in options.items() if k in RELOADING}
        with self.world.lock:
            there = self.loaded.get(name)
        if there and there[0] == wanted:
            time.sleep(0.001)
            return
        self.world.runner_stop(0)
        self.world.log_load()
        self.world.runner_start()
        time.sleep(self.world.options.load_ms / 1000)
        with self.world.lock:
            self.world.last_prompt = []
            self.gone_at.pop(name, None)
            self.loaded[name] = (wanted, 300, window)

    def line(self, request, text="", thinking="", **more):
        value = {"model": request.get("model", ""), "created_at": now()}
        if "messages" in request:
            value["message"] = {"role": "assistant", "content": text} | ({"thinking": thinking} if thinking else {})
        else:
            value |= {"response": text} | ({"thinking": thinking} if thinking else {})
        return value | ({"done": False} if "done" not in more else {}) | more

    def run(self, exchange, request, name, prompt):
        began = time.monotonic_ns()
        options = request.get("options") or {}
        window = int(options.get("num_ctx", 4096))
        work = model.Generation(self.world, exchange, prompt, options.get("num_predict"))
        self.load(name, options, window)
        loaded = time.monotonic_ns()
        if not prompt:
            exchange.json(200, self.line(request, done=True, done_reason="load"))
            return
        length = len(work.prompt)
        if length > window - 1 and request.get("shift") is False:
            self.error(exchange, 400, "the prompt is longer than the context length currently available to the model; "
                       "shorten the prompt, adjust the context length in settings, or use a model with a longer "
                       "context length")
            return
        if length > window - 1 and request.get("truncate") is False:
            inner = {"error": {"code": 400, "message": f"request ({length} tokens) exceeds the available context size "
                               f"({window} tokens), try increasing it", "type": "exceed_context_size_error",
                               "n_prompt_tokens": length, "n_ctx": window}}
            self.error(exchange, 400, json.dumps(inner, separators=(",", ":")))
            return
        cut = work.truncate(window, int(options.get("num_keep", 4)) + 1)
        if cut:
            self.world.log(f'time={now()} level=WARN source=llama_server.go:317 msg="truncating input prompt" '
                           f"limit={cut[0]} prompt={cut[1]} keep=5 new={cut[0]}\n")
        with self.world.burning():
            self.stream(exchange, request, work, began, loaded)

    def stream(self, exchange, request, work, began, loaded):
        streamed = request.get("stream", True)
        thinks = self.world.options.thinking and request.get("think") is not False and not request.get("raw")
        texts = []
        work.read_prompt(use_cache=True)
        try:
            for text in work.texts():
                texts.append(text)
                if not streamed:
                    continue
                if not exchange.headers_sent:
                    exchange.head(200, "application/x-ndjson")
                exchange.ndjson(self.line(request, "" if thinks else text, text if thinks else ""))
        except model.Broken:
            self.fail(exchange, "an error was encountered while running the model: unexpected EOF")
            return
        self.world.log_request(work)
        if streamed and not exchange.headers_sent:
            exchange.head(200, "application/x-ndjson")
        if "no-done" in exchange.faults:
            exchange.end()
            return
        text = "" if streamed else "".join(texts)
        last = self.line(request, "" if thinks else text, text if thinks else "", done=True, done_reason=work.stop)
        if not request.get("raw") and "messages" not in request:
            last["context"] = list(range(259, 259 + len(work.prompt)))
        last |= self.figures(exchange, work, began, loaded)
        if streamed:
            exchange.ndjson(last)
            exchange.end()
        else:
            exchange.json(200, last)

    def figures(self, exchange, work, began, loaded):
        """Which count the prompt's tokens are has changed with the version; the duration is of the new ones always."""
        count = work.evaluated if self.numbers == (0, 30, 0) else len(work.prompt)
        value = {"total_duration": work.done_at - began, "load_duration": loaded - began, "prompt_eval_count": count,
                 "prompt_eval_duration": work.prompt_ns, "eval_count": work.count, "eval_duration": work.eval_ns}
        if "no-durations" in exchange.faults:
            return {}
        if "zero-durations" in exchange.faults:
            return dict.fromkeys(value, 0)
        value = {k: v for k, v in value.items() if v}
        if self.numbers >= (0, 33, 3):
            value["prompt_eval_cached_count"] = work.cached
        return value

    def fail(self, exchange, text):
        if exchange.headers_sent:
            exchange.ndjson({"error": text})
            exchange.end()
        elif "error-at-once" in exchange.faults:
            exchange.head(200, "application/x-ndjson")
            exchange.ndjson({"error": text})
            exchange.end()
        else:
            self.error(exchange, 500, text)
