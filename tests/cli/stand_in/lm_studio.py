"""LM Studio: its v0 and v1 REST routes with their stats and named events, beside OpenAI's routes without any."""
import time

import model
import openai


class LmStudio(openai.OpenAi):
    name, owner = "lm-studio", "organization_owner"
    head_fields = {"X-Powered-By": "Express"}
    generation = (*openai.OpenAi.generation, "/api/v0/chat/completions", "/api/v0/completions", "/api/v1/chat")

    def __init__(self, world):
        super().__init__(world)
        self.loaded = world.options.loaded

    def unknown(self, exchange):
        """Status 200: what answers here proves nothing by its status."""
        exchange.json(200, {"error": f"Unexpected endpoint or method. ({exchange.method} {exchange.path})"})

    def routes(self):
        return super().routes() | {
            ("GET", "/lmstudio-greeting"): lambda e: e.json(200, {"lmstudio": True}),
            ("GET", "/api/v0/models"): lambda e: e.json(200, {"object": "list", "data": [
                self.v0_row(n) for n in self.names()]}),
            ("GET", "/api/v1/models"): lambda e: e.json(200, {"models": [self.v1_row(n) for n in self.names()]}),
            ("POST", "/api/v0/chat/completions"): self.generate, ("POST", "/api/v0/completions"): self.generate,
            ("POST", "/api/v1/chat"): self.chat, ("POST", "/api/v1/models/load"): self.load,
            ("POST", "/api/v1/models/unload"): self.unload}

    def v0_row(self, name):
        row = {"id": name, "object": "model", "type": "llm", "publisher": "someone", "arch": "llama",
               "compatibility_type": "gguf", "quantization": "Q4_K_M",
               "state": "loaded" if self.loaded else "not-loaded", "max_context_length": 8192}
        return row | ({"loaded_context_length": 4096} if self.loaded else {})

    def v1_row(self, name):
        config = {"context_length": 4096, "eval_batch_size": 512, "parallel": 1, "flash_attention": True,
                  "offload_kv_cache_to_gpu": True}
        return {"type": "llm", "publisher": "someone", "key": name, "display_name": name, "architecture": "llama",
                "quantization": {"name": "Q4_K_M", "bits_per_weight": 4}, "size_bytes": 4376376, "params_string": "7M",
                "loaded_instances": [{"id": name, "config": config}] if self.loaded else [],
                "max_context_length": 8192, "format": "gguf"}

    def load(self, exchange):
        body = exchange.json_body() or {}
        if body.get("model") not in self.names():
            self.no_such_model(exchange, body)
            return
        began = time.monotonic()
        self.bring_in()
        exchange.json(200, {"type": "llm", "instance_id": self.model, "status": "loaded",
                            "load_time_seconds": round(time.monotonic() - began, 3)})

    def no_such_model(self, exchange, request):
        exchange.json(404, {"error": {"type": "model_not_found",
                                      "message": f"Model '{request.get('model')}' not found"}})

    def bring_in(self):
        if not self.loaded:
            time.sleep(self.world.options.load_ms / 1000)
            self.loaded = True

    def unload(self, exchange):
        if "never-unloads" not in self.world.options.fault:
            self.loaded = False
        exchange.json(200, {"instance_id": (exchange.json_body() or {}).get("instance_id", self.model)})

    def generate(self, exchange):
        self.bring_in()
        self.v0 = exchange.path.startswith("/api/v0/")
        super().generate(exchange)

    def stats(self, work):
        prompt, decode = work.prompt_ns / 1e9, work.eval_ns / 1e9
        if "zero-durations" in self.world.options.fault:
            prompt = decode = 0
        reason = "eosFound" if work.stopped_early else "maxPredictedTokensReached"
        return {"tokens_per_second": work.count / decode if decode else 0, "time_to_first_token": prompt,
                "generation_time": decode, "stop_reason": reason}

    def extra(self, work):
        if not self.v0 or "no-durations" in self.world.options.fault:
            return {}
        return {"stats": self.stats(work),
                "model_info": {"arch": "llama", "quant": "Q4_K_M", "format": "gguf", "context_length": 4096},
                "runtime": {"name": "llama.cpp-linux-x86_64-avx2", "version": "1.52.0", "supported_formats": ["gguf"]}}

    # ---- /api/v1/chat ----

    def chat(self, exchange):
        request = exchange.json_body() or {}
        if request.get("model") not in self.names():
            self.no_such_model(exchange, request)
            return
        prompt = request.get("input", "")
        work = model.Generation(self.world, exchange, prompt if isinstance(prompt, str) else str(prompt),
                                request.get("max_output_tokens"))
        streamed = request.get("stream", False)

        def event(name, **fields):
            if streamed:
                exchange.event({"type": name} | fields, name)

        if streamed:
            exchange.head(200, "text/event-stream")
        event("chat.start", model_instance_id=self.model)
        load_seconds = self.chat_load(event)
        event("prompt_processing.start")
        work.read_prompt(True, lambda done, total: event("prompt_processing.progress", progress=done / total))
        if "no-prompt-end" not in exchange.faults:
            event("prompt_processing.end")
        part = "reasoning" if self.world.options.thinking else "message"
        event(part + ".start")
        text = ""
        try:
            for piece in work.texts():
                text += piece
                event(part + ".delta", content=piece)
        except model.Broken:
            event("error", error={"type": "internal_error", "message": "the engine died"})
            exchange.end() if streamed else self.error(exchange, 500, "the engine died")
            return
        event(part + ".end")
        stats = {"input_tokens": len(work.prompt), "total_output_tokens": work.count,
                 "reasoning_output_tokens": work.count if self.world.options.thinking else 0,
                 "tokens_per_second": self.stats(work)["tokens_per_second"],
                 "time_to_first_token_seconds": self.stats(work)["time_to_first_token"]}
        stats |= {"model_load_time_seconds": load_seconds} if load_seconds is not None else {}
        result = {"model_instance_id": self.model, "output": [{"type": part, "content": text}], "stats": stats,
                  "response_id": "resp_02b2017dbc06c12bfc35"}
        if streamed:
            if "no-done" not in exchange.faults:
                event("chat.end", result=result)
            exchange.end()
        else:
            exchange.json(200, result)

    def chat_load(self, event):
        """The seconds it took, None when the model was there."""
        if self.loaded:
            return None
        began = time.monotonic()
        event("model_load.start", model_instance_id=self.model)
        event("model_load.progress", model_instance_id=self.model, progress=0.5)
        self.bring_in()
        took = round(time.monotonic() - began, 3)
        event("model_load.end", model_instance_id=self.model, load_time_seconds=took)
        return took


KINDS = (LmStudio,)
