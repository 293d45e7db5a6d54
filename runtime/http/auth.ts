/**
 * Who may call what: each route names its access, a route that names none is for `admin`. Wrong tokens are counted by
 * address; right ones never are, so that a stranger behind the same proxy locks nobody out.
 */

import rateLimit, { normalizeIP } from "@fastify/rate-limit";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Principal, Scope, Tokens } from "../app/api.ts";
import { RuntimeError } from "../contracts/errors.ts";
import type { Server } from "./deps.ts";

/** `public`: anyone; `token`: any valid token; a scope: a token with that scope; several: one with all of them. */
export type Access = "public" | "token" | Scope | readonly Scope[];

declare module "fastify" {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    /** Null on public routes. */
    principal: Principal | null;
  }
}

const REALM = 'Bearer realm="cairn"';

export function installAuth(server: Server, tokens: Tokens, wrongTokensPerMinute: number): void {
  server.decorateRequest("principal", null);
  server.register(rateLimit, { global: false });

  let countWrongToken: ((request: FastifyRequest) => Promise<{ tooMany: boolean; retryAfterS: number }>) | undefined;
  server.after(() => {
    const limiter = server.createRateLimit({
      max: wrongTokensPerMinute,
      timeWindow: 60_000,
      // A connection that is gone already has no address any more.
      keyGenerator: (request) => normalizeIP(request.ip ?? ""),
    });
    countWrongToken = async (request) => {
      const seen = await limiter(request);
      if (seen.isAllowed) return { tooMany: false, retryAfterS: 0 };
      return { tooMany: seen.isExceeded, retryAfterS: seen.ttlInSeconds };
    };
  });

  server.addHook("onRequest", async (request, reply) => {
    const access = request.routeOptions.config.access ?? "admin";
    if (access === "public") return;
    const token = bearerToken(request);
    if (token === null) throw unauthorized(reply, "A token is needed: Authorization: Bearer <token>.");
    const principal = await tokens.authenticate(token);
    if (principal === null) {
      const { tooMany, retryAfterS } = (await countWrongToken?.(request)) ?? { tooMany: false, retryAfterS: 0 };
      if (tooMany) {
        throw new RuntimeError("RUNTIME_RATE_LIMITED", "Too many wrong tokens from this address.", { retryAfterS });
      }
      throw unauthorized(reply, "The token is not valid.", 'error="invalid_token"');
    }
    const needed = access === "token" ? [] : [access].flat();
    const missing = needed.find((scope) => !principal.scopes.has(scope));
    if (missing !== undefined) {
      reply.header("www-authenticate", `${REALM}, error="insufficient_scope", scope="${needed.join(" ")}"`);
      throw new RuntimeError("RUNTIME_FORBIDDEN", `This token lacks the scope "${missing}".`);
    }
    request.principal = principal;
  });
}

/** The caller of a route that is not public. */
export function callerOf(request: FastifyRequest): Principal {
  if (request.principal === null) throw new RuntimeError("RUNTIME_UNAUTHORIZED", "A token is needed.");
  return request.principal;
}

/** Refuses every token but the owner's. */
export function assertOwner(request: FastifyRequest, what: string): void {
  if (callerOf(request).owner) return;
  throw new RuntimeError("RUNTIME_FORBIDDEN", `Only the owner's token ${what}.`);
}

/** Null without one; what does not look like a token at all counts as a wrong one and is compared like any other. */
function bearerToken(request: FastifyRequest): string | null {
  const header = request.headers.authorization;
  if (header === undefined || header.trim() === "") return null;
  return /^Bearer +(\S+) *$/i.exec(header)?.[1] ?? "";
}

function unauthorized(reply: FastifyReply, message: string, parameter?: string): RuntimeError {
  reply.header("www-authenticate", parameter ? `${REALM}, ${parameter}` : REALM);
  return new RuntimeError("RUNTIME_UNAUTHORIZED", message);
}
