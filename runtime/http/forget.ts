/** The owner's erasure of messages: what would go, and the erasure itself. */

import { z } from "zod";
import type { Selection } from "../contracts/forgetting.ts";
import { assertOwner } from "./auth.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";

const text = z.string().min(1).max(1_000);
const selectionSchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("messages"), ids: z.array(z.uuid()).min(1).max(1_000) }),
  z.strictObject({ kind: z.literal("conversation"), id: z.uuid() }),
  z.strictObject({ kind: z.literal("session"), key: z.string().min(1).max(2_000) }),
  z.strictObject({
    kind: z.literal("user"),
    user: text.describe("As its channel names it."),
    channel: text.optional().describe("Default: every channel."),
  }),
  z.strictObject({
    kind: z.literal("matching"),
    text: text.min(3).describe("Part of what a message, a call or its result says, in any case."),
  }),
]);

const previewSchema = z.object({
  messages: z.number(),
  conversations: z.number(),
  summaries: z.number().describe("Summaries that cover them, and are made again from what remains."),
  first: z.array(
    z.object({ id: z.string(), role: z.string(), agent: z.string(), created_at: z.string(), text: z.string() }),
  ),
  unfinished: z
    .string()
    .nullable()
    .describe("An interrupted erasure of the same selection: forgetting again finishes it."),
});

const reportSchema = z.object({
  id: z.string().nullable().describe("Of the erasure; null where nothing was selected."),
  messages: z.number(),
  summaries: z.number(),
  turns: z.number(),
  attachments: z.number(),
});

export function registerForget(server: Server, { app }: RouteDeps): void {
  server.post(
    "/api/admin/memory/forget/preview",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "What an erasure would take; for the owner's token",
        body: z.strictObject({ selection: selectionSchema }),
        response: { 200: success(previewSchema) },
      },
    },
    async (request) => {
      assertOwner(request, "forgets");
      const preview = await app.forgetting.preview(request.body.selection);
      return ok({ ...preview, first: preview.first.map((one) => ({ ...one })) });
    },
  );

  server.post(
    "/api/admin/memory/forget",
    {
      config: { access: "admin", audit: "memory.forget" },
      schema: {
        tags: ["admin"],
        summary: "Erase messages for good, and what is kept of them; for the owner's token",
        description: "It goes on when the client does not wait. The same request finishes what was interrupted.",
        body: z.strictObject({
          selection: selectionSchema,
          expected: z.number().int().min(0).describe("Messages, as the preview has counted them."),
          reason: text.describe("Kept with the tombstones; name nothing in it that is to be forgotten."),
        }),
        response: { 200: success(reportSchema), 409: errorSchema },
      },
    },
    async (request) => {
      assertOwner(request, "forgets");
      const { selection, expected, reason } = request.body;
      request.auditDetails = { selection: auditable(selection), expected, reason };
      const report = await app.forgetting.forget(selection, { expected, reason, by: "owner" });
      request.auditDetails = { ...request.auditDetails, ...report };
      return ok({ ...report });
    },
  );
}

/** The words that were searched for are what was to be forgotten. */
function auditable(selection: Selection): object {
  return selection.kind === "matching" ? { kind: selection.kind } : selection;
}
