/** /v1: what OpenAI's clients call. A model is an agent. */

import { createHash } from "node:crypto";
import type { FastifyReply } from "fastify";
import { z } from "zod";
import type { Principal } from "../app/api.ts";
import { fromErrorBody, RuntimeError } from "../contracts/errors.ts";
import type { TurnResult } from "../contracts/stream.ts";
import { callerOf } from "./auth.ts";
import { releaseBody } from "./bodies.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { sendEventStream } from "./event-stream.ts";
import { completionRequestSchema, readRequest, sessionHeaderSchema } from "./openai-request.ts";
import { type CompletionHead, completion, completionChunks, waitsForAnswer } from "./openai-response.ts";
import { idempotencyKeySchema, oneOf, openAiErrorSchema } from "./schemas.ts";
import { agentCaller, nameTurn, requireAgent, waitForTurn, withTurn } from "./turns.ts";

const modelSchema = z.object({
  id: z.string(),
  object: z.literal("model"),
  created: z.number(),
  owned_by: z.string(),
});

const completionSchema = z.object({
  id: z.string(),
  object: z.literal("chat.completion"),
  created: z.number(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.number(),
      message: z.object({ role: z.literal("assistant"), content: z.string(), refusal: z.null() }),
      logprobs: z.null(),
      finish_reason: z.literal("stop"),
    }),
  ),
  usage: z.object({
    prompt_tokens: z.number(),
    completion_tokens: z.number(),
    total_tokens: z.number(),
    prompt_tokens_details: z.object({ cached_tokens: z.number() }),
  }),
});

const headersSchema = z.looseObject({
  "x-session": sessionHeaderSchema.describe("Names a session whose stored history is used."),
  "idempotency-key": idempotencyKeySchema.optional(),
});

export function registerOpenAi(server: Server, deps: RouteDeps): void {
  const { app, clock } = deps;
  // Required by the protocol: the server's start as the time of creation.
  const created = Math.floor(clock.now().getTime() / 1000);
  const models = () =>
    app.agents().map(({ name }) => ({ id: name, object: "model" as const, created, owned_by: "cairn" }));

  server.get(
    "/v1/models",
    {
      config: { access: "agent" },
      schema: {
        tags: ["openai"],
        summary: "The agents, as models",
        response: { 200: z.object({ object: z.literal("list"), data: z.array(modelSchema) }) },
      },
    },
    async () => ({ object: "list" as const, data: models() }),
  );

  server.get(
    "/v1/models/:model",
    {
      config: { access: "agent" },
      schema: {
        tags: ["openai"],
        summary: "One agent, as a model",
        params: z.object({ model: z.string() }),
        response: { 200: modelSchema, 404: openAiErrorSchema },
      },
    },
    async (request) => {
      const model = models().find(({ id }) => id === request.params.model);
      if (model) return model;
      throw new RuntimeError(
        "RUNTIME_AGENT_UNKNOWN",
        `There is no agent "${request.params.model.slice(0, 100)}" here.`,
      );
    },
  );

  server.post(
    "/v1/chat/completions",
    {
      bodyLimit: deps.limits.bodyBytes,
      config: { access: "agent" },
      schema: {
        tags: ["openai"],
        summary: "A message to an agent, in OpenAI's shape",
        description:
          "With the header X-Session (or `user`) the session has its stored history, and earlier messages of the request are " +
          "ignored. Without, the request is the history and the session is new. Sampling and length parameters (temperature, " +
          "top_p, max_tokens, stop, seed and the like) are accepted and have no effect: the agent's configuration decides. " +
          "Without Idempotency-Key a retry may be a second turn. The header x-turn-id names the turn.",
        headers: headersSchema,
        body: completionRequestSchema,
        response: {
          200: oneOf("The completion, or its chunks with `stream: true`", {
            "application/json": completionSchema,
            "text/event-stream": z.string(),
          }),
          404: openAiErrorSchema,
          409: openAiErrorSchema,
          502: openAiErrorSchema,
          504: openAiErrorSchema,
        },
      },
    },
    async (request, reply) => {
      const { model, user: givenUser, stream, stream_options } = request.body;
      requireAgent(app, model);
      const { text, attachments, history } = readRequest(request.body);
      const caller = callerOf(request);
      const user = givenUser ?? undefined;
      const idempotencyKey = request.headers["idempotency-key"];
      const named = request.headers["x-session"] ?? user;
      const { turnId } = await deps.agentChannel.post({
        agent: model,
        session: named ?? newSession(deps, caller, idempotencyKey),
        text,
        attachments,
        history: named === undefined ? history : [],
        caller: agentCaller(caller),
        ...(user === undefined ? {} : { user }),
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      });
      releaseBody(request);
      nameTurn(reply, turnId);
      const head = { turnId, model, created: Math.floor(clock.now().getTime() / 1000) };
      if (stream) return streamCompletion(deps, reply, head, stream_options?.include_usage ?? false);
      return completion(head, await resultOf(deps, reply, head));
    },
  );
}

/** A session for this request only; a repeat under the same key has to find it again. */
function newSession({ newId }: RouteDeps, caller: Principal, idempotencyKey: string | undefined): string {
  if (idempotencyKey === undefined) return newId();
  const digest = createHash("sha256")
    .update(JSON.stringify([caller.id, idempotencyKey]))
    .digest("hex");
  return `request-${digest.slice(0, 32)}`;
}

async function resultOf(deps: RouteDeps, reply: FastifyReply, head: CompletionHead): Promise<TurnResult> {
  const { model, turnId } = head;
  const result = await waitForTurn(deps, reply, model, turnId);
  if (result) return result;
  const turn = await deps.app.turns.read(model, turnId);
  if (turn.state === "finished" && turn.final.type === "turn.finished") return turn.final;
  if (turn.state === "finished" && turn.final.type === "turn.failed")
    throw withTurn(fromErrorBody(turn.final.error), turnId);
  if (turn.state === "waiting") throw waitsForAnswer(head, turn.question);
  throw new RuntimeError("RUNTIME_NOT_READY", "The answer is not there yet; the turn goes on.", {
    turnId,
    hint: `Fetch it at /api/agents/${encodeURIComponent(model)}/turns/${turnId}.`,
  });
}

async function streamCompletion(
  { app, limits, closing }: RouteDeps,
  reply: FastifyReply,
  head: CompletionHead,
  includeUsage: boolean,
): Promise<void> {
  const frames = (signal: AbortSignal) =>
    completionChunks(head, app.turns.events(head.model, head.turnId, undefined, signal), includeUsage);
  const { heartbeatMs, stallMs } = limits;
  await sendEventStream(reply, frames, { heartbeatMs, stallMs, closing });
}
