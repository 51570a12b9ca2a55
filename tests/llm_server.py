"""A real server that speaks OpenAI's protocol, around a tiny causal model: healthy, and broken in many ways."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import dataclass, field
from typing import Any

import torch
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

KEY = "sk-very-secret-456"
MODEL = "tiny"
BIAS = 12.0  # on the label words: a model that was tuned to follow instructions answers with them


@dataclass
class Log:
    """What the server was asked for."""

    calls: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    modes: dict[str, int] = field(default_factory=dict)


def application(log: Log, model: Any, tokenizer: Any, words: tuple[str, ...]) -> FastAPI:
    """Each mode is a path: /healthy/v1, /flaky/v1 ..."""
    app, dice = FastAPI(), random.Random(0)
    liked = [tokenizer(f" {word}", add_special_tokens=False)["input_ids"][0] for word in words]

    @torch.inference_mode()
    def likely(ids: list[int]) -> Any:
        logits = model(torch.tensor([ids])).logits[0]
        logits[:, liked] += BIAS
        return logits.log_softmax(-1)

    def chat(body: dict[str, Any], mode: str) -> dict[str, Any]:
        asked = "\n".join(message["content"] for message in body["messages"])
        ids = tokenizer(asked)["input_ids"]
        logs = likely(ids)[-1]
        values, tokens = logs.topk(int(body.get("top_logprobs") or 1))
        names = [tokenizer.decode([token]) for token in tokens.tolist()]
        said = names[0] if mode != "chatty" else ["It is hard to say.", f"I think:{names[0]}."][len(ids) % 2]
        choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": said}}
        if body.get("logprobs") and mode not in ("mute", "chatty", "chats"):
            top = [{"token": n, "logprob": v} for n, v in zip(names, values.tolist(), strict=True)]
            choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
        return counted({"choices": [choice]}, len(ids), 1, mode)

    @torch.inference_mode()
    def complete(body: dict[str, Any], mode: str) -> dict[str, Any]:
        found = tokenizer(body["prompt"], return_offsets_mapping=True)
        ids, places = found["input_ids"], [a for a, _ in found["offset_mapping"]]
        logs = model(torch.tensor([ids])).logits[0].log_softmax(-1)
        own = [None, *(float(logs[at - 1, ids[at]]) for at in range(1, len(ids)))]
        tokens = [tokenizer.decode([token]) for token in ids]
        logprobs = {"tokens": tokens, "token_logprobs": own, "text_offset": places, "top_logprobs": None}
        return counted({"choices": [{"text": body["prompt"], "logprobs": logprobs}]}, len(ids), 0, mode)

    def counted(answer: dict[str, Any], given: int, made: int, mode: str) -> dict[str, Any]:
        if mode != "uncounted":
            log.tokens_in += given
            log.tokens_out += made
            answer["usage"] = {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
        return answer

    def refuse(status: int, why: str, **headers: str) -> Response:
        log.failed += 1
        return JSONResponse({"error": {"message": why}}, status, headers=headers)

    def disturb(mode: str, body: dict[str, Any], key: str | None) -> Response | None:
        many = log.modes[mode] = log.modes.get(mode, 0) + 1
        if mode == "locked" and key != f"Bearer {KEY}":
            return refuse(401, f"Incorrect API key provided: {key}")
        if body["model"] != MODEL:
            return refuse(404, f"The model `{body['model']}` does not exist")
        if mode == "picky" and "awful" in str(body):
            return refuse(400, "this text is against the rules")
        if mode == "limited" and many % 4 == 0:
            return refuse(429, "slow down", **{"Retry-After": "1" if many == 4 else "0"})
        if mode == "flaky" and dice.random() < 0.1:
            return refuse(dice.choice((500, 502, 503)), "hiccup")
        return None

    @app.post("/{mode}/v1/{rest:path}")
    async def answer(mode: str, rest: str, request: Request) -> Any:
        log.calls += 1
        body = await request.json()
        if (wrong := disturb(mode, body, request.headers.get("authorization"))) is not None:
            return wrong
        if rest == "completions" and mode == "chats":  # as servers that fail at an echo of no new token
            return refuse(500, "Internal Server Error")
        if rest == "completions" and mode != "echo":
            return refuse(404, "no such route")
        if rest == "chat/completions" and mode == "echo":
            return refuse(404, "no such route")
        if mode == "slow":
            await asyncio.sleep(0.05)
        found = complete(body, mode) if rest == "completions" else chat(body, mode)
        if mode == "cut" and dice.random() < 0.2:
            log.failed += 1
            return Response(json.dumps(found)[:-20], media_type="application/json")
        if mode == "stream":
            return StreamingResponse(_events(found), media_type="text/event-stream")
        return found

    return app


def _events(found: dict[str, Any]) -> Any:
    """The answer in pieces, though nobody asked for them so."""
    choice = found["choices"][0]
    said = choice["message"]["content"]
    for part in (said[:2], said[2:]):
        piece = {"choices": [{"index": 0, "delta": {"content": part}, "logprobs": choice.get("logprobs")}]}
        yield f"data: {json.dumps(piece)}\n\n"
    yield f"data: {json.dumps({'choices': [], 'usage': found.get('usage')})}\n\n"
    yield "data: [DONE]\n\n"
