/** What the routes of agents say of a turn: its result, that it is still open, or its events. */

import type { FastifyReply } from "fastify";
import { z } from "zod";
import { fromErrorBody } from "../contracts/errors.ts";
import type { TurnResult } from "../contracts/stream.ts";
import type { RouteDeps } from "./deps.ts";
import { formatFrame, sendEventStream } from "./event-stream.ts";
import { success } from "./schemas.ts";
import { withTurn } from "./turns.ts";

export const resultSchema = z.object({
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
  attachments: z
    .array(
      z.object({
        sha256: z.string(),
        name: z.string(),
        media_type: z.string(),
        size: z.number(),
        caption: z.string().optional(),
      }),
    )
    .optional()
    .describe(
      "Files that the turn has sent; their bytes are at /api/agents/{name}/turns/{turn_id}/attachments/{sha256}.",
    ),
});

/** What the owner is shown of a call that waits for an approval. */
export const approvalFields = {
  tool: z.string(),
  call: z.string().describe("All its arguments; what cannot be seen is shown by its number, secrets are left out."),
  reason: z.string().describe("What was matched, and why it is asked about."),
  digest: z.string().describe("SHA-256, hex: the decision holds for exactly this call."),
};

export const pendingSchema = success(
  z.object({
    turn_id: z.string(),
    session: z.string().optional(),
    state: z.enum(["queued", "running", "waiting"]),
    question: z
      .object({
        id: z.string(),
        text: z.string(),
        choices: z.array(z.string()),
        expires_at: z.string(),
        approval: z
          .object(approvalFields)
          .optional()
          .describe("Of a question that is decided at /api/approvals/{id}; it has no answer."),
      })
      .optional()
      .describe("What the turn waits for, with the state `waiting`."),
  }),
);

export const eventsSchema = z
  .string()
  .describe(
    "Events turn.started, text.delta, reasoning.delta, tool.started, tool.progress, tool.finished, turn.message, turn.attachment, " +
      "turn.waiting, then turn.finished or turn.failed; " +
      "`data` is the event as JSON, `id` is for Last-Event-ID.",
  );

/** Sends the turn's events, from after the one with the id `after`, until its end; `here`: only those that this node has itself. */
export async function streamTurn(
  { app, limits, closing }: RouteDeps,
  reply: FastifyReply,
  agent: string,
  turnId: string,
  { after, here }: { readonly after?: number; readonly here?: boolean } = {},
): Promise<void> {
  async function* frames(signal: AbortSignal) {
    for await (const { id, event } of app.turns.events(agent, turnId, after, signal, here)) {
      yield formatFrame({ id, event: event.type, data: event });
    }
  }
  await sendEventStream(reply, frames, { heartbeatMs: limits.heartbeatMs, stallMs: limits.stallMs, closing });
}

export function wantsEvents(accept: string | undefined): boolean {
  return accept?.toLowerCase().includes("text/event-stream") ?? false;
}

type Pending = Exclude<Awaited<ReturnType<RouteDeps["app"]["turns"]["read"]>>, { state: "finished" }>;

export function pendingOf(turn: Pending): Omit<z.infer<typeof pendingSchema>["result"], "turn_id"> {
  if (turn.state !== "waiting") return { state: turn.state };
  return { state: turn.state, question: { ...turn.question, choices: [...turn.question.choices] } };
}

type Final = Extract<Awaited<ReturnType<RouteDeps["app"]["turns"]["read"]>>, { state: "finished" }>["final"];

/** The result of a finished turn; a failed one throws what it failed with. */
export function resultOf(final: Final): TurnResult {
  if (final.type === "turn.failed") throw withTurn(fromErrorBody(final.error), final.turn_id);
  return final;
}

/** Exactly the result's own fields: the final event has a type, too. */
export function toResult({
  turn_id,
  session,
  text,
  usage,
  interrupted,
  notice,
  attachments,
}: TurnResult): z.infer<typeof resultSchema> {
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
    ...(attachments === undefined ? {} : { attachments: [...attachments] }),
  };
}
