/** Tokens of programs: made, listed, given another value, revoked. */

import { z } from "zod";
import { type Principal, SCOPES, type Scope } from "../app/api.ts";
import { RuntimeError } from "../contracts/errors.ts";
import { callerOf } from "./auth.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, nameSchema, ok, success } from "./schemas.ts";

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

export function registerTokens(server: Server, { app, clock }: RouteDeps): void {
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
      request.auditDetails = { id: rotated.id, name, scopes, ...(expires_at === null ? {} : { expires_at }) };
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
