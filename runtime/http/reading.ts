/** The memory as an operator reads it: sessions, single rows, the agents' wikis. */

import { z } from "zod";
import { SESSION_KINDS } from "../contracts/reading.ts";
import { clientGone } from "./connections.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, nameSchema, ok, success } from "./schemas.ts";

const MEMORY = ["admin", "memory"] as const;
const OPENED_BY = ["turn", "capture", "append", "import"] as const;

const rowSession = {
  session_key: z.string(),
  conversation_id: z.string().describe("Of a session the newest one."),
  name: z.string().nullable().describe("The channel's name of the session."),
  agent: z.string(),
  channel: z.string(),
  user: z.string().describe("Channel-side; empty is the owner."),
  opened_by: z.enum(OPENED_BY),
};

const sessionSchema = z.object({
  ...rowSession,
  title: z.string().nullable().describe("Its title, else the first words of a user."),
  model: z.string().nullish().describe("Given with /model, as provider:name; null: the agent's own."),
  conversations: z.number(),
  messages: z.number(),
  created_at: z.string(),
  last_at: z.string(),
});

const messageSchema = z.object({
  id: z.string(),
  conversation_id: z.string(),
  agent: z.string(),
  channel: z.string(),
  role: z.enum(["user", "assistant", "system", "tool"]),
  content: z.string(),
  tool_name: z.string().nullable(),
  tool_args: z.unknown(),
  tool_result: z.string().nullable(),
  metadata: z.record(z.string(), z.unknown()),
  created_at: z.string(),
});

const summarySchema = z.object({
  id: z.string(),
  conversation_id: z.string().nullable(),
  parent_id: z.string().nullable(),
  depth: z.number(),
  summary_kind: z.enum(["leaf", "branch", "root"]),
  content: z.string(),
  message_count: z.number(),
  earliest_at: z.string().nullable(),
  latest_at: z.string().nullable(),
  model: z.string().nullable(),
  created_at: z.string(),
});

const shownSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("message"),
    session: z.object(rowSession),
    message: messageSchema,
    missing: z.string().nullable().describe("Why a part that was cut is not there; null where nothing is missing."),
    before: z.array(messageSchema),
    after: z.array(messageSchema),
  }),
  z.object({
    kind: z.literal("summary"),
    session: z.object(rowSession).nullable(),
    summary: summarySchema,
    children: z.array(summarySchema).describe("Summaries below it, oldest first, at most 100."),
    sources: z.array(messageSchema).describe("The first of its messages, at most 100."),
  }),
]);

const page = {
  slug: z.string().describe("Name of its file, without the ending."),
  title: z.string(),
  updated: z.string(),
  statements: z.number(),
};

const wholeNumber = (most: number) => z.coerce.number().int().min(0).max(most, `must be at most ${most}`);

export function registerReading(server: Server, { app }: RouteDeps): void {
  server.get(
    "/api/admin/memory/sessions",
    {
      config: { access: MEMORY },
      schema: {
        tags: ["admin"],
        summary: "Sessions of agents, or all conversations of the memory; those that were written to last first",
        querystring: z.strictObject({
          of: z
            .enum(SESSION_KINDS)
            .default("session")
            .describe("session: of agents, without those of `cairn test`; conversation: every one, captured ones too."),
          agent: nameSchema(256).optional(),
          limit: wholeNumber(1_000).min(1).default(50),
        }),
        response: { 200: success(z.object({ sessions: z.array(sessionSchema) })) },
      },
    },
    async (request) => ok({ sessions: [...(await app.reading.sessions(request.query))] }),
  );

  server.get(
    "/api/admin/memory/rows/:id",
    {
      config: { access: MEMORY },
      schema: {
        tags: ["admin"],
        summary: "A message or a summary, whole, with what stands around it",
        params: z.object({
          id: z
            .string()
            .regex(/^[0-9a-f]{8}[0-9a-f-]{0,28}$/i, "must be an id, or at least the first eight digits of one")
            .refine((id) => id.replaceAll("-", "").length <= 32, "has too many digits"),
        }),
        querystring: z.strictObject({
          around: wholeNumber(50).default(2).describe("Neighbours on each side of a message."),
        }),
        response: { 200: success(shownSchema), 400: errorSchema, 404: errorSchema },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const shown = await app.reading.show({ id, around: request.query.around, signal: clientGone(reply) });
      return ok(
        shown.kind === "message"
          ? { ...shown, before: [...shown.before], after: [...shown.after] }
          : { ...shown, children: [...shown.children], sources: [...shown.sources] },
      );
    },
  );

  server.get(
    "/api/admin/memory/wiki/:agent",
    {
      config: { access: MEMORY },
      schema: {
        tags: ["admin"],
        summary: "The pages of an agent's wiki, changed last first",
        params: z.object({ agent: nameSchema(256) }),
        response: {
          200: success(z.object({ agent: z.string(), enabled: z.boolean(), pages: z.array(z.object(page)) })),
          404: errorSchema,
        },
      },
    },
    async (request) => {
      const list = await app.reading.wiki(request.params.agent);
      return ok({ ...list, pages: [...list.pages] });
    },
  );

  server.get(
    "/api/admin/memory/wiki/:agent/:page",
    {
      config: { access: MEMORY },
      schema: {
        tags: ["admin"],
        summary: "A page of an agent's wiki, by its slug or its title",
        params: z.object({ agent: nameSchema(256), page: nameSchema(500) }),
        response: { 200: success(z.object({ agent: z.string(), ...page, text: z.string() })), 404: errorSchema },
      },
    },
    async (request) => ok(await app.reading.wikiPage(request.params.agent, request.params.page)),
  );
}
