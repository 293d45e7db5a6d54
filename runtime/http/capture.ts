/** Where coding assistants' hooks deliver their sessions: a batch of events, stored as a whole or not at all. */

import { z } from "zod";
import { MAX_CAPTURE_EVENTS } from "../contracts/capture.ts";
import { RuntimeError } from "../contracts/errors.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";

const MAX_NAME = 1_000;
const MAX_TITLE = 1_000;
const MAX_EVENT_ID = 10_000;

const name = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((text) => text.trim() !== "", "must not be blank");

const eventSchema = z.strictObject({
  event_id: name(MAX_EVENT_ID).describe("The same id is stored once in a conversation."),
  role: z.enum(["user", "assistant", "system", "tool"]),
  content: z
    .string()
    .nullish()
    .describe("May be empty only with tool_name or tool_result. Stored up to 16,000 UTF-16 code units."),
  tool_name: z.string().nullish(),
  tool_args: z.unknown().optional().describe("Any JSON; never cut."),
  tool_result: z.string().nullish().describe("Stored up to 16,000 UTF-16 code units."),
  created_at: z.string().min(1).nullish().describe("ISO 8601; default now."),
  metadata: z
    .record(z.string(), z.unknown())
    .nullish()
    .describe("Kept with the row; session_jsonl_path, session_jsonl_line and their like point to the whole payload."),
});

const batchSchema = z.strictObject({
  session_key: name(2_000).describe("Which session it belongs to; the first batch opens it."),
  agent: name(MAX_NAME).describe("Tag of who speaks; need not be a configured agent."),
  channel: name(MAX_NAME).describe("Tag of the place; need not be a configured channel."),
  source: z.string().max(MAX_NAME).nullish().describe("What captured it; kept in each row's metadata."),
  title: z.string().max(MAX_TITLE).nullish().describe("Of the conversation, where it has none yet."),
  events: z.array(eventSchema).describe("At most 1,000, in order. May be empty only with finalize."),
  finalize: z.boolean().nullish().describe("Mark the conversation ready to compact. It stays open."),
});

const resultSchema = z.object({
  conversation_id: z.string(),
  inserted: z.number().describe("Events that are stored now."),
  deduplicated: z.number().describe("Events that were stored before."),
  truncated: z.number().describe("Of the stored events, those that were cut."),
  finalized: z.boolean(),
});

function refuseLongBatch(body: unknown): void {
  const events = typeof body === "object" && body !== null && "events" in body ? body.events : [];
  if (!Array.isArray(events) || events.length <= MAX_CAPTURE_EVENTS) return;
  throw new RuntimeError("RUNTIME_BODY_TOO_LARGE", `A batch has at most ${MAX_CAPTURE_EVENTS} events.`);
}

export function registerCapture(server: Server, { app, limits }: RouteDeps): void {
  server.post(
    "/api/capture",
    {
      bodyLimit: limits.bodyBytes,
      config: { access: "capture" },
      // Before the schema, which would list the errors of each event.
      preValidation: async (request) => refuseLongBatch(request.body),
      schema: {
        tags: ["memory"],
        summary: "Store a batch of events of one session",
        description:
          "All events or none, in one transaction, under the session's lock. Events whose id the conversation has already are skipped, so that a batch can be sent again. One invalid event refuses its batch; `issues` says which.",
        body: batchSchema,
        response: { 200: success(resultSchema), 413: errorSchema },
      },
    },
    async (request) => ok(await app.capture.store(request.body)),
  );
}
