/** Calls of tools that wait for the owner's word, and those that it was given for once and for all. */

import { z } from "zod";
import { callerOf } from "./auth.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";
import { approvalFields } from "./turn-answers.ts";

const pendingSchema = z.object({
  id: z.string(),
  agent: z.string(),
  ...approvalFields,
  turn_id: z.string(),
  channel: z.string(),
  conversation: z.string().describe("Where the owner was asked."),
  asked_at: z.string(),
  expires_at: z.string().describe("Then it is refused."),
});

const standingSchema = z.object({
  id: z.string(),
  agent: z.string(),
  ...approvalFields,
  approved_by: z.string().describe("Name of the token, or `owner`."),
  approved_at: z.string(),
});

const next = z.string().nullable().describe("For `after`; null: this is the last page.");
const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  after: z.uuid().optional().describe("`next` of the page before."),
});
const params = z.object({ id: z.string().max(100) });
const decisionSchema = z.discriminatedUnion("decision", [
  z.strictObject({
    decision: z.literal("approve"),
    always: z.boolean().default(false).describe("Exactly this call is not asked about again."),
  }),
  z.strictObject({ decision: z.literal("deny") }),
]);

export function registerApprovals(server: Server, { app }: RouteDeps): void {
  server.get(
    "/api/approvals",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "Calls of tools that wait for the owner's word, the oldest first",
        querystring: pageQuery,
        response: { 200: success(z.object({ approvals: z.array(pendingSchema), next })) },
      },
    },
    async (request) => {
      const page = await app.approvals.pending(request.query);
      return ok({ ...page, approvals: [...page.approvals] });
    },
  );

  server.post(
    "/api/approvals/:id",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "Approve or deny a call; its turn then goes on",
        description:
          "The first decision counts, and counts once: 409 for another one, after the expiry, and for a turn that does not wait any " +
          "more. The id is the question's (`turn.waiting`), or its last eight digits.",
        params,
        body: decisionSchema,
        response: {
          200: success(
            z.object({
              id: z.string(),
              agent: z.string(),
              tool: z.string(),
              turn_id: z.string(),
              decision: z.enum(["approved", "denied"]),
              always: z.boolean(),
            }),
          ),
          404: errorSchema,
          409: errorSchema,
        },
      },
    },
    async (request) => {
      const { body, params: given } = request;
      return ok(
        await app.approvals.decide({
          id: given.id,
          decision: body.decision === "approve" ? "approved" : "denied",
          always: body.decision === "approve" && body.always,
          by: { name: callerOf(request).name, details: { address: request.ip } },
        }),
      );
    },
  );

  server.get(
    "/api/approvals/standing",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "Calls that run without a question, exactly as they were approved",
        querystring: pageQuery,
        response: { 200: success(z.object({ approvals: z.array(standingSchema), next })) },
      },
    },
    async (request) => {
      const page = await app.approvals.standing(request.query);
      return ok({ ...page, approvals: [...page.approvals] });
    },
  );

  server.delete(
    "/api/approvals/standing/:id",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "Ask about this call again",
        params,
        response: { 200: success(standingSchema), 404: errorSchema },
      },
    },
    async (request) => {
      const by = { name: callerOf(request).name, details: { address: request.ip } };
      return ok(await app.approvals.revoke(request.params.id, by));
    },
  );
}
