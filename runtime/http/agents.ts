/** Messages and commands to an agent. */

import { z } from "zod";
import { callerOf } from "./auth.ts";
import { releaseBody } from "./bodies.ts";
import type { RouteDeps, Server } from "./deps.ts";
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
import { taskOf, taskSchema } from "./tasks.ts";
import {
  eventsSchema,
  pendingOf,
  pendingSchema,
  resultOf,
  resultSchema,
  streamTurn,
  toResult,
  wantsEvents,
} from "./turn-answers.ts";
import { agentCaller, nameTurn, requireAgent, waitForTurn } from "./turns.ts";

const messageSchema = z.strictObject({
  session: sessionSchema.describe("The client's name of the conversation."),
  text: z
    .string()
    .max(MAX_TEXT)
    .refine((text) => text.trim() !== "", "must not be blank"),
  user: userSchema.optional().describe("Whom the client speaks for; without it the token's own."),
  attachments: z.array(attachmentSchema).max(MAX_ATTACHMENTS).optional(),
  task: taskSchema.optional(),
});

const commandSchema = z.strictObject({
  session: sessionSchema,
  user: userSchema.optional(),
  command: z.string().min(1).max(MAX_TEXT).describe("The whole line, such as `/think high`."),
});

const agentParams = z.object({ name: z.string() });

export function registerAgents(server: Server, deps: RouteDeps): void {
  const { app, agentChannel, limits } = deps;

  server.post(
    "/api/agents/:name/messages",
    {
      bodyLimit: limits.bodyBytes,
      config: { access: { peerOr: "agent" } },
      onRequest: async (request) => requireAgent(app, agentParams.parse(request.params).name),
      schema: {
        tags: ["agents"],
        summary: "Send a message to an agent",
        description:
          "Answers with the turn's result once it is stored, or streams it with `Accept: text/event-stream`. The message is " +
          "durable before anything is answered; a client that goes away ends nothing and fetches the turn by its id. " +
          "202 tells that the turn goes on while this node stops waiting, or that it waits for an answer. Another node sends " +
          "tasks: messages with `task` and a key, which end when its turns wait no longer.",
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
      const task = taskOf(callerOf(request), request.body.task, idempotencyKey);
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
        ...(task === undefined ? {} : { task }),
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
