/** Messages, turns and commands of an agent, as JSON or as server-sent events. */

import type { FastifyReply } from "fastify";
import { z } from "zod";
import { fromErrorBody, RuntimeError } from "../contracts/errors.ts";
import type { TurnResult } from "../contracts/stream.ts";
import { callerOf } from "./auth.ts";
import { releaseBody } from "./bodies.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { formatFrame, sendEventStream } from "./event-stream.ts";
import {
  attachmentSchema,
  errorSchema,
  idempotencyKeySchema,
  MAX_ATTACHMENTS,
  MAX_TEXT,
  ok,
  oneOf,
  sessionSchema,
  success,
  userSchema,
} from "./schemas.ts";
import { agentCaller, nameTurn, requireAgent, waitForTurn, withTurn } from "./turns.ts";

const resultSchema = z.object({
  turn_id: z.string(),
  session: z.string(),
  text: z.string(),
  usage: z.object({
    inputTokens: z.number(),
    outputTokens: z.number(),
    cachedInputTokens: z.number().optional(),
    cacheWriteInputTokens: z.number().optional(),
  }),
  interrupted: z.boolean(),
  notice: z.string().optional(),
});

const pendingSchema = success(
  z.object({
    turn_id: z.string(),
    session: z.string().optional(),
    state: z.enum(["queued", "running", "waiting"]),
    question: z
      .object({ id: z.string(), text: z.string(), choices: z.array(z.string()), expires_at: z.string() })
      .optional()
      .describe("What the turn waits for, with the state `waiting`."),
  }),
);

const eventsSchema = z
  .string()
  .describe(
    "Events turn.started, text.delta, reasoning.delta, tool.started, tool.progress, tool.finished, turn.message, turn.waiting, " +
      "then turn.finished or turn.failed; " +
      "`data` is the event as JSON, `id` is for Last-Event-ID.",
  );

/** UTF-16 code units, for all users: the limit of a text of a user who is not the owner. */
const MAX_ANSWER = 65_536;

const messageSchema = z.strictObject({
  session: sessionSchema.describe("The client's name of the conversation."),
  text: z
    .string()
    .max(MAX_TEXT)
    .refine((text) => text.trim() !== "", "must not be blank"),
  user: userSchema.optional().describe("Whom the client speaks for; without it the token's own."),
  attachments: z.array(attachmentSchema).max(MAX_ATTACHMENTS).optional(),
});

const commandSchema = z.strictObject({
  session: sessionSchema,
  user: userSchema.optional(),
  command: z.string().min(1).max(MAX_TEXT).describe("The whole line, such as `/think high`."),
});

const answerSchema = z.strictObject({
  text: z
    .string()
    .max(MAX_ANSWER)
    .refine((text) => text.trim() !== "", "must not be blank"),
  question_id: z.string().max(100).optional().describe("Without it the turn's newest question."),
});

const agentParams = z.object({ name: z.string() });
const turnParams = z.object({ name: z.string(), turn_id: z.string().max(100) });
const lastEventId = z
  .string()
  .regex(/^\d{1,15}$/, "must be the id of an event")
  .optional();

export function registerAgents(server: Server, deps: RouteDeps): void {
  const { app, agentChannel, limits } = deps;

  server.post(
    "/api/agents/:name/messages",
    {
      bodyLimit: limits.bodyBytes,
      config: { access: "agent" },
      onRequest: async (request) => requireAgent(app, agentParams.parse(request.params).name),
      schema: {
        tags: ["agents"],
        summary: "Send a message to an agent",
        description:
          "Answers with the turn's result once it is stored, or streams it with `Accept: text/event-stream`. The message is " +
          "durable before anything is answered; a client that goes away ends nothing and fetches the turn by its id. " +
          "202 tells that the turn goes on while this node stops waiting, or that it waits for an answer.",
        params: agentParams,
        headers: z.looseObject({
          "idempotency-key": idempotencyKeySchema.optional().describe("A repeat with this key is the same message."),
          accept: z.string().optional(),
        }),
        body: messageSchema,
        response: {
          200: oneOf("The turn's result, or its events", {
            "application/json": success(resultSchema),
            "text/event-stream": eventsSchema,
          }),
          202: pendingSchema,
          404: errorSchema,
          409: errorSchema,
          502: errorSchema,
          504: errorSchema,
        },
      },
    },
    async (request, reply) => {
      const { session, text, user, attachments } = request.body;
      const agent = request.params.name;
      const idempotencyKey = request.headers["idempotency-key"];
      const { turnId } = await agentChannel.post({
        agent,
        session,
        text,
        caller: agentCaller(callerOf(request)),
        ...(user === undefined ? {} : { user }),
        ...(attachments
          ? { attachments: attachments.map(({ name, media_type, data }) => ({ name, mediaType: media_type, data })) }
          : {}),
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
      });
      releaseBody(request);
      nameTurn(reply, turnId);
      if (wantsEvents(request.headers.accept)) return streamTurn(deps, reply, agent, turnId);
      const result = await waitForTurn(deps, reply, agent, turnId);
      if (result) return ok(toResult(result));
      const state = await app.turns.read(agent, turnId);
      if (state.state === "finished") return ok(toResult(resultOf(state.final)));
      return reply.code(202).send(ok({ turn_id: turnId, session, ...pendingOf(state) }));
    },
  );

  server.get(
    "/api/agents/:name/turns/:turn_id",
    {
      config: { access: "agent" },
      schema: {
        tags: ["agents"],
        summary: "Fetch a turn, or follow it",
        description:
          "200 with the result, 202 while it is queued, runs or waits for an answer, or the error that it failed with. With `Accept: " +
          "text/event-stream` its events, from after `Last-Event-ID` where that is given.",
        params: turnParams,
        headers: z.looseObject({ "last-event-id": lastEventId, accept: z.string().optional() }),
        response: {
          200: oneOf("The turn's result, or its events", {
            "application/json": success(resultSchema),
            "text/event-stream": eventsSchema,
          }),
          202: pendingSchema,
          404: errorSchema,
          499: errorSchema,
          502: errorSchema,
          504: errorSchema,
        },
      },
    },
    async (request, reply) => {
      const { name: agent, turn_id: turnId } = request.params;
      requireAgent(app, agent);
      const turn = await app.turns.read(agent, turnId);
      if (!agentChannel.mayFollow(agentCaller(callerOf(request)), turn.user)) {
        throw new RuntimeError("RUNTIME_TURN_UNKNOWN", `The agent "${agent}" has no such turn.`);
      }
      nameTurn(reply, turnId);
      if (wantsEvents(request.headers.accept)) {
        const after = request.headers["last-event-id"];
        return streamTurn(deps, reply, agent, turnId, after === undefined ? undefined : Number(after));
      }
      if (turn.state === "finished") return ok(toResult(resultOf(turn.final)));
      return reply.code(202).send(ok({ turn_id: turnId, ...pendingOf(turn) }));
    },
  );

  server.post(
    "/api/agents/:name/turns/:turn_id/answer",
    {
      bodyLimit: limits.smallBodyBytes * 2,
      config: { access: "agent" },
      schema: {
        tags: ["agents"],
        summary: "Answer what a turn waits for",
        description:
          "The first answer counts; the same one of the same user again is no other one. 409 for another one, for a question whose " +
          "time is over, and for a turn that does not wait.",
        params: turnParams,
        body: answerSchema,
        response: {
          200: success(z.object({ turn_id: z.string(), question_id: z.string() })),
          404: errorSchema,
          409: errorSchema,
        },
      },
    },
    async (request) => {
      const { name: agent, turn_id: turnId } = request.params;
      requireAgent(app, agent);
      const caller = agentCaller(callerOf(request));
      const turn = await app.turns.read(agent, turnId);
      if (!agentChannel.mayFollow(caller, turn.user)) {
        throw new RuntimeError("RUNTIME_TURN_UNKNOWN", `The agent "${agent}" has no such turn.`);
      }
      const { text, question_id: questionId } = request.body;
      const answer = { agent, turnId, text, by: caller.owner ? "" : turn.user };
      const answered = await app.turns.answer({ ...answer, ...(questionId === undefined ? {} : { questionId }) });
      return ok({ turn_id: turnId, question_id: answered.questionId });
    },
  );

  server.post(
    "/api/agents/:name/commands",
    {
      bodyLimit: limits.smallBodyBytes * 2,
      config: { access: "agent" },
      onRequest: async (request) => requireAgent(app, agentParams.parse(request.params).name),
      schema: {
        tags: ["agents"],
        summary: "Give a command; it is answered at once, whatever is queued",
        params: agentParams,
        body: commandSchema,
        response: {
          200: success(z.object({ text: z.string(), data: z.record(z.string(), z.unknown()).optional() })),
          404: errorSchema,
        },
      },
    },
    async (request) => {
      const { session, user, command } = request.body;
      const caller = agentCaller(callerOf(request));
      const agent = request.params.name;
      const { text, data } = await agentChannel.command({
        agent,
        session,
        line: command,
        caller,
        ...(user === undefined ? {} : { user }),
      });
      return ok({ text, ...(data ? { data: { ...data } } : {}) });
    },
  );
}

async function streamTurn(
  { app, limits, closing }: RouteDeps,
  reply: FastifyReply,
  agent: string,
  turnId: string,
  after?: number,
): Promise<void> {
  async function* frames(signal: AbortSignal) {
    for await (const { id, event } of app.turns.events(agent, turnId, after, signal)) {
      yield formatFrame({ id, event: event.type, data: event });
    }
  }
  await sendEventStream(reply, frames, { heartbeatMs: limits.heartbeatMs, stallMs: limits.stallMs, closing });
}

function wantsEvents(accept: string | undefined): boolean {
  return accept?.toLowerCase().includes("text/event-stream") ?? false;
}

type Pending = Exclude<Awaited<ReturnType<RouteDeps["app"]["turns"]["read"]>>, { state: "finished" }>;

function pendingOf(turn: Pending): Omit<z.infer<typeof pendingSchema>["result"], "turn_id"> {
  if (turn.state !== "waiting") return { state: turn.state };
  return { state: turn.state, question: { ...turn.question, choices: [...turn.question.choices] } };
}

type Final = Extract<Awaited<ReturnType<RouteDeps["app"]["turns"]["read"]>>, { state: "finished" }>["final"];

/** The result of a finished turn; a failed one throws what it failed with. */
function resultOf(final: Final): TurnResult {
  if (final.type === "turn.failed") throw withTurn(fromErrorBody(final.error), final.turn_id);
  return final;
}

/** Exactly the result's own fields: the final event has a type, too. */
function toResult({ turn_id, session, text, usage, interrupted, notice }: TurnResult): z.infer<typeof resultSchema> {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens } = usage;
  return {
    turn_id,
    session,
    text,
    usage: {
      inputTokens,
      outputTokens,
      ...(cachedInputTokens === undefined ? {} : { cachedInputTokens }),
      ...(cacheWriteInputTokens === undefined ? {} : { cacheWriteInputTokens }),
    },
    interrupted,
    ...(notice === undefined ? {} : { notice }),
  };
}
