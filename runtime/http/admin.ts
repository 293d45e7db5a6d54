/** What the command line needs of a running node: draining, the memory as a whole, tokens. */

import type { FastifyReply } from "fastify";
import { z } from "zod";
import { type Principal, SCOPES, type Scope } from "../app/api.ts";
import { RuntimeError } from "../contracts/errors.ts";
import { assertOwner, callerOf } from "./auth.ts";
import { clientGone } from "./connections.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, nameSchema, ok, oneOf, success } from "./schemas.ts";
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
});

const tokenSchema = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  created_at: z.string(),
  revoked_at: z.string().nullable(),
  expires_at: z.string().nullable().describe("Null: it does not expire."),
  last_used_at: z.string().nullable().describe("To the minute; null: never."),
});

const newTokenSchema = z.strictObject({
  name: nameSchema(100),
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length),
  expires_at: z.iso
    .datetime({ offset: true })
    .optional()
    .describe("When it stops working; default: never. A token that expires makes none that outlives it."),
});

const rotateTokenSchema = z.strictObject({
  expires_at: z.iso
    .datetime({ offset: true })
    .optional()
    .describe("When it stops working; default: as before. A token that expires makes none that outlives it."),
});

const rotatedTokenSchema = z.object({
  id: z.string().describe("As before, so that its users keep their sessions."),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  expires_at: z.string().nullable().describe("Null: it does not expire."),
  token: z.string(),
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

const drainingSchema = success(z.object({ draining: z.boolean() }));

export function registerAdmin(server: Server, deps: RouteDeps): void {
  registerLifecycle(server, deps);
  registerTokens(server, deps);
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
        summary: "Stop accepting messages and let active turns end",
        body: drainSchema.nullish(),
        response: { 200: drainingSchema },
      },
    },
    async (request) => {
      const { deadline_s: deadline, resume_after_s: resumeAfter, wait } = request.body ?? {};
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

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}

function registerTokens(server: Server, { app, clock }: RouteDeps): void {
  server.get(
    "/api/admin/tokens",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary: "All tokens, without their values",
        response: { 200: success(z.object({ tokens: z.array(tokenSchema) })) },
      },
    },
    async () => {
      const tokens = await app.tokens.list();
      return ok({ tokens: tokens.map((token) => ({ ...token, scopes: [...token.scopes] })) });
    },
  );

  server.post(
    "/api/admin/tokens",
    {
      config: { access: "admin", audit: "token.created" },
      schema: {
        tags: ["admin"],
        summary: "Create a token; its value is shown this once",
        body: newTokenSchema,
        response: { 200: success(z.object({ id: z.string(), token: z.string() })), 409: errorSchema },
      },
    },
    async (request) => {
      const scopes = [...new Set(request.body.scopes)];
      const { name, expires_at: expires } = request.body;
      request.auditDetails = { name, scopes, ...(expires === undefined ? {} : { expires_at: expires }) };
      refuseEscalation(callerOf(request), scopes, expires === undefined ? undefined : new Date(expires));
      const expiresAt = futureOf(expires, clock.now());
      const created = await app.tokens.create(name, scopes, expiresAt);
      request.auditDetails = { ...request.auditDetails, id: created.id };
      return ok(created);
    },
  );

  server.post(
    "/api/admin/tokens/:id/rotate",
    {
      config: { access: "admin", audit: "token.rotated" },
      schema: {
        tags: ["admin"],
        summary: "Another value for a token, by its id or its name; it is shown this once, and the former one ends",
        params: z.object({ id: z.string().max(100) }),
        body: rotateTokenSchema.nullish(),
        response: { 200: success(rotatedTokenSchema), 404: errorSchema, 409: errorSchema },
      },
    },
    async (request) => {
      const { id } = request.params;
      request.auditDetails = { id };
      const expiresAt = futureOf(request.body?.expires_at, clock.now());
      const rotated = await app.tokens.rotate(id, {
        expiresAt,
        permit: (scopes, end) => refuseEscalation(callerOf(request), scopes, end),
      });
      const { name, scopes, expires_at } = rotated;
      request.auditDetails = { id: rotated.id, name, ...(expires_at === null ? {} : { expires_at }) };
      return ok({ ...rotated, scopes: [...scopes] });
    },
  );

  server.delete(
    "/api/admin/tokens/:id",
    {
      config: { access: "admin", audit: "token.revoked" },
      schema: {
        tags: ["admin"],
        summary: "Revoke a token, by its id or its name; it stops working within seconds",
        params: z.object({ id: z.string().max(100) }),
        response: {
          200: success(z.object({ id: z.string(), name: z.string(), revoked: z.literal(true) })),
          404: errorSchema,
          409: errorSchema,
        },
      },
    },
    async (request) => {
      request.auditDetails = { id: request.params.id };
      const { id, name } = await app.tokens.revoke(request.params.id);
      request.auditDetails = { id, name };
      return ok({ id, name, revoked: true as const });
    },
  );
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

/** RUNTIME_INVALID_REQUEST for a time that is over. */
function futureOf(expires: string | undefined, now: Date): Date | undefined {
  const at = expires === undefined ? undefined : new Date(expires);
  if (at === undefined || at > now) return at;
  throw new RuntimeError("RUNTIME_INVALID_REQUEST", `expires_at is not in the future: ${expires}.`);
}

/** A token makes no token that may do more than itself, or for longer. */
function refuseEscalation(own: Principal, wanted: readonly Scope[], expiresAt: Date | undefined): void {
  const missing = wanted.filter((scope) => !own.scopes.has(scope));
  if (missing.length > 0) {
    const message = `This token cannot give scopes it does not have: ${missing.join(", ")}.`;
    throw new RuntimeError("RUNTIME_FORBIDDEN", message);
  }
  if (own.expiresAt === undefined || (expiresAt !== undefined && expiresAt <= own.expiresAt)) return;
  const end = own.expiresAt.toISOString();
  throw new RuntimeError("RUNTIME_FORBIDDEN", `This token expires at ${end}, and makes no token that outlives it.`);
}
