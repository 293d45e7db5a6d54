/** Turns of an agent: fetched or followed by their id, and answered where they wait. */

import { z } from "zod";
import { RuntimeError } from "../contracts/errors.ts";
import { callerOf } from "./auth.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, oneOf, success } from "./schemas.ts";
import { sendBytes } from "./transfer.ts";
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
import { agentCaller, nameTurn, requireAgent } from "./turns.ts";

/** UTF-16 code units, for all users: the limit of a text of a user who is not the owner. */
const MAX_ANSWER = 65_536;

const answerSchema = z.strictObject({
  text: z
    .string()
    .max(MAX_ANSWER)
    .refine((text) => text.trim() !== "", "must not be blank"),
  question_id: z.string().max(100).optional().describe("Without it the turn's newest question."),
});

const turnParams = z.object({ name: z.string(), turn_id: z.string().max(100) });
const lastEventId = z
  .string()
  .regex(/^\d{1,15}$/, "must be the id of an event")
  .optional();

const maxForwards = z.literal("0", { error: "0 is all that it may be" }).optional();

export function registerAgentTurns(server: Server, deps: RouteDeps): void {
  const { app, agentChannel, limits } = deps;

  server.get(
    "/api/agents/:name/turns/:turn_id",
    {
      config: { access: { peerOr: "agent" } },
      schema: {
        tags: ["agents"],
        summary: "Fetch a turn, or follow it",
        description:
          "200 with the result, 202 while it is queued, runs or waits for an answer, or the error that it failed with. With `Accept: " +
          "text/event-stream` its events, from after `Last-Event-ID` where that is given; those of a turn that another node of the " +
          "same database runs are forwarded from there, unless the request says `Max-Forwards: 0`. Another node sees the turns of its " +
          "tasks, and with that header those of a database that it shares.",
        params: turnParams,
        headers: z.looseObject({
          "last-event-id": lastEventId,
          accept: z.string().optional(),
          "max-forwards": maxForwards,
        }),
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
      const caller = callerOf(request);
      const here = request.headers["max-forwards"] === "0";
      const turn = await app.turns.read(agent, turnId);
      const mayFollow =
        agentChannel.mayFollow(agentCaller(caller), turn.user) ||
        // What it asks for to show is in its own database.
        (here && caller.peer !== undefined && (await app.sharesDatabase(caller.peer.id)));
      if (!mayFollow) throw unknownTurn(agent);
      nameTurn(reply, turnId);
      if (wantsEvents(request.headers.accept)) {
        const after = request.headers["last-event-id"];
        return streamTurn(deps, reply, agent, turnId, { after: after === undefined ? 0 : Number(after), here });
      }
      if (turn.state === "finished") return ok(toResult(resultOf(turn.final)));
      return reply.code(202).send(ok({ turn_id: turnId, ...pendingOf(turn) }));
    },
  );

  server.get(
    "/api/agents/:name/turns/:turn_id/attachments/:sha256",
    {
      config: { access: "agent" },
      schema: {
        tags: ["agents"],
        summary: "Fetch a file that a turn has sent",
        description: "As long as the turn is there: a week after its end, unless it is forgotten before.",
        params: turnParams.extend({ sha256: z.string().max(100) }),
        response: { 200: z.unknown().describe("The bytes."), 404: errorSchema },
      },
    },
    async (request, reply) => {
      const { name: agent, turn_id: turnId, sha256 } = request.params;
      requireAgent(app, agent);
      const turn = await app.turns.read(agent, turnId);
      if (!agentChannel.mayFollow(agentCaller(callerOf(request)), turn.user)) throw unknownTurn(agent);
      const { ref, bytes } = await app.turns.openAttachment(agent, turnId, sha256);
      // What an agent has written is nothing that a browser should run.
      reply.headers({
        "content-type": ref.media_type,
        "content-length": ref.size,
        "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(ref.name.toWellFormed())}`,
      });
      return sendBytes(reply, bytes, limits.stallMs);
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
      if (!agentChannel.mayFollow(caller, turn.user)) throw unknownTurn(agent);
      const { text, question_id: questionId } = request.body;
      const answer = { agent, turnId, text, by: caller.owner ? "" : turn.user };
      const answered = await app.turns.answer({ ...answer, ...(questionId === undefined ? {} : { questionId }) });
      return ok({ turn_id: turnId, question_id: answered.questionId });
    },
  );

  server.post(
    "/api/agents/:name/turns/:turn_id/stop",
    {
      bodyLimit: limits.smallBodyBytes,
      config: { access: { peerOr: "agent" } },
      schema: {
        tags: ["agents"],
        summary: "Stop a turn, and what it has handed on",
        description:
          "As `/stop` does, but for this very turn, wherever it runs or waits. `stopped` is false where it has ended before.",
        params: turnParams,
        body: z.strictObject({}),
        response: { 200: success(z.object({ turn_id: z.string(), stopped: z.boolean() })), 404: errorSchema },
      },
    },
    async (request) => {
      const { name: agent, turn_id: turnId } = request.params;
      requireAgent(app, agent);
      const turn = await app.turns.read(agent, turnId);
      if (!agentChannel.mayFollow(agentCaller(callerOf(request)), turn.user)) throw unknownTurn(agent);
      return ok({ turn_id: turnId, stopped: await app.turns.stop(agent, turnId) });
    },
  );
}

function unknownTurn(agent: string): RuntimeError {
  return new RuntimeError("RUNTIME_TURN_UNKNOWN", `The agent "${agent}" has no such turn.`);
}
