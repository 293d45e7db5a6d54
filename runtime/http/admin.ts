/** What the command line needs of a running node: draining, and the memory as a whole. */

import type { FastifyReply } from "fastify";
import { z } from "zod";
import { SCOPES } from "../app/api.ts";
import { assertOwner, callerOf } from "./auth.ts";
import { clientGone } from "./connections.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, oneOf, success } from "./schemas.ts";
import { sendBytes, uploadOf } from "./transfer.ts";

const ARCHIVE = "application/octet-stream";
const LINES = "application/x-ndjson";

const drainSchema = z.strictObject({
  deadline_s: z
    .number()
    .min(0)
    .max(3600)
    .optional()
    .describe("Seconds that active turns get; default: the configured ones."),
  wait: z.boolean().optional().describe("Answer when the node is drained, not at once."),
  resume_after_s: z
    .number()
    .positive()
    .max(3600)
    .optional()
    .describe("Accept messages again by itself after so many seconds; default: only when it is resumed."),
  lease: z
    .number()
    .int()
    .positive()
    .optional()
    .describe("Of a rollout: refused when a later lease was granted; default: an operator's own wish."),
});

const restoredSchema = z.object({
  counts: z.record(z.string(), z.number()),
  tokens: z.object({
    left_out: z.number(),
    restored: z.array(z.object({ name: z.string(), scopes: z.array(z.enum(SCOPES)), revoked: z.boolean() })),
  }),
});

const backupSchema = z.object({
  name: z.string(),
  created_at: z.string(),
  bytes: z.number(),
  verified: z.boolean().describe("It was read back whole."),
});

/** The body is a stream: there is nothing to validate, only to describe. */
const uploadSchema = z.unknown().describe("The bytes, of any length.");

const testedSchema = success(z.object({ turn_id: z.string(), text: z.string() }));

const drainingSchema = success(z.object({ draining: z.boolean() }));

export function registerAdmin(server: Server, deps: RouteDeps): void {
  registerLifecycle(server, deps);
  registerTestTurn(server, deps);
  // Uploads are streams of any length: in a scope of their own, where no parser reads them into memory.
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser([ARCHIVE, LINES], (_request, payload, done) => done(null, payload));
    registerArchives(scope, deps);
  });
}

function registerLifecycle(server: Server, { app }: RouteDeps): void {
  server.post(
    "/api/admin/drain",
    {
      config: { access: "admin", audit: "node.drain" },
      schema: {
        tags: ["admin"],
        summary: "Stop accepting messages, let active turns end, and hand agents over to other nodes",
        body: drainSchema.nullish(),
        response: { 200: drainingSchema, 409: errorSchema },
      },
    },
    async (request) => {
      const { deadline_s: deadline, resume_after_s: resumeAfter, wait, lease } = request.body ?? {};
      if (lease !== undefined) await app.rollouts.requireNewest(lease);
      const drained = app.lifecycle.drain(milliseconds(deadline), milliseconds(resumeAfter));
      if (wait) await drained;
      else drained.catch((error: unknown) => request.log.error({ err: error }, "drain failed"));
      return ok({ draining: app.lifecycle.draining });
    },
  );

  server.post(
    "/api/admin/resume",
    {
      config: { access: "admin", audit: "node.resume" },
      schema: { tags: ["admin"], summary: "Accept messages again", response: { 200: drainingSchema } },
    },
    async () => {
      await app.lifecycle.resume();
      return ok({ draining: app.lifecycle.draining });
    },
  );
}

function registerTestTurn(server: Server, { app, closing }: RouteDeps): void {
  server.post(
    "/api/admin/test-turn",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "Run a turn on this very node, whichever agents it hosts; it asks no model",
        response: { 200: testedSchema },
      },
    },
    async (_request, reply) => {
      const { turn_id: turnId, text } = await app.testTurn(AbortSignal.any([clientGone(reply), closing]));
      return ok({ turn_id: turnId, text });
    },
  );
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}

function registerArchives(server: Server, { app, limits }: RouteDeps): void {
  const { archives, backups } = app;
  const download =
    (type: string, name: string, bytes: (signal: AbortSignal) => AsyncIterable<Uint8Array>) =>
    async (reply: FastifyReply) => {
      reply.type(type).header("content-disposition", `attachment; filename="${name}"`);
      return sendBytes(reply, bytes(clientGone(reply)), limits.stallMs);
    };
  const backup = download(ARCHIVE, "cairn-backup.archive", (signal) => archives.backup(signal));
  const lines = download(LINES, "cairn-export.jsonl", (signal) => archives.exportJsonl(signal));

  server.get(
    "/api/admin/memory/backup",
    {
      config: { access: ["admin", "memory"], audit: "memory.backup" },
      schema: {
        tags: ["admin"],
        summary: "The whole memory as one archive; a connection that is cut means that it is not complete",
        response: { 200: oneOf("The archive", { [ARCHIVE]: z.string() }) },
      },
    },
    async (_request, reply) => backup(reply),
  );

  server.get(
    "/api/admin/memory/backups",
    {
      config: { access: ["admin", "memory"] },
      schema: {
        tags: ["admin"],
        summary: "The scheduled backups on this node's disk, newest first",
        querystring: z.strictObject({
          verify: z.enum(["true", "false"]).optional().describe("Read each to its end now; default false."),
        }),
        response: { 200: success(z.object({ node: z.string(), backups: z.array(backupSchema) })) },
      },
    },
    async (request, reply) => {
      const verify = request.query.verify === "true";
      const found = await backups.list({ verify, signal: clientGone(reply) });
      return ok({ node: app.node.name, backups: [...found] });
    },
  );

  server.get(
    "/api/admin/memory/backups/:name",
    {
      config: { access: ["admin", "memory"], audit: "memory.backup" },
      schema: {
        tags: ["admin"],
        summary: "A scheduled backup of this node; a connection that is cut means that it is not complete",
        params: z.object({ name: z.string().max(100) }),
        response: { 200: oneOf("The archive", { [ARCHIVE]: z.string() }), 404: errorSchema },
      },
    },
    async (request, reply) => {
      const { name } = request.params;
      request.auditDetails = { name };
      return download(ARCHIVE, "cairn-backup.archive", (signal) => backups.read(name, signal))(reply);
    },
  );

  server.get(
    "/api/admin/memory/export",
    {
      config: { access: ["admin", "memory"], audit: "memory.export" },
      schema: {
        tags: ["admin"],
        summary: "The messages as JSON lines, oldest first",
        response: { 200: oneOf("The lines", { [LINES]: z.string() }) },
      },
    },
    async (_request, reply) => lines(reply),
  );

  server.post(
    "/api/admin/memory/restore",
    {
      config: { access: "admin", audit: "memory.restore", streamedBody: true },
      schema: {
        tags: ["admin"],
        summary: "Restore an archive into an empty store, all or nothing; for the owner's token",
        description: "An archive fills every agent's own conversations, and may bring tokens along.",
        consumes: [ARCHIVE],
        querystring: z.strictObject({
          tokens: z.enum(["true", "false"]).optional().describe("Restore the archive's tokens too; default false."),
        }),
        body: uploadSchema,
        response: { 200: success(restoredSchema), 409: errorSchema },
      },
    },
    async (request) => {
      assertOwner(request, "restores a memory");
      const withTokens = request.query.tokens === "true";
      const { counts, tokens } = await archives.restore(uploadOf(request, limits.stallMs), { withTokens });
      const restored = tokens.restored.map((token) => ({ ...token, scopes: [...token.scopes] }));
      request.auditDetails = { counts, tokens_left_out: tokens.left_out, tokens_restored: restored };
      return ok({ counts: { ...counts }, tokens: { left_out: tokens.left_out, restored } });
    },
  );

  server.post(
    "/api/admin/memory/import",
    {
      config: { access: "admin", audit: "memory.import", streamedBody: true },
      schema: {
        tags: ["admin"],
        summary: "Import the lines of an export; messages that are there already are skipped",
        description:
          "Lines of sessions in which this service's agents have their turns are for the owner's token alone.",
        consumes: [LINES],
        body: uploadSchema,
        response: { 200: success(z.object({ imported: z.number(), skipped: z.number() })) },
      },
    },
    async (request) => {
      const { owner } = callerOf(request);
      const report = await archives.importJsonl(uploadOf(request, limits.stallMs), { turnSessions: owner });
      request.auditDetails = { ...report };
      return ok(report);
    },
  );
}
