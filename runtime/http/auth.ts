/**
 * Access to routes: each route names its own, a route that names none is for `admin`. An address with too many wrong
 * tokens is locked out, but for tokens that it has used before (domain/token-lockout.ts) and for those that cannot be guessed.
 */

import { hash } from "node:crypto";
import type { Socket } from "node:net";
import { normalizeIP } from "@fastify/rate-limit";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Peers, Principal, Scope, Tokens } from "../app/api.ts";
import { RuntimeError } from "../contracts/errors.ts";
import type { NodeEntry } from "../contracts/node-entry.ts";
import type { Clock } from "../contracts/ports.ts";
import type { SecurityLog } from "../contracts/security-log.ts";
import { type LockoutLimits, TokenLockout } from "../domain/token-lockout.ts";
import type { Server } from "./deps.ts";
import { isGuess, peerRefused, principalOf } from "./peer-auth.ts";

/** `token`: any valid token; a scope: a token with that scope; several: one with all of them. */
export type TokenAccess = "token" | Scope | readonly Scope[];
/** `public`: anyone; `peer`: other nodes of the fleet alone. A peer has no scopes: where no `peer` stands, it is refused. */
export type Access = "public" | "peer" | TokenAccess | { readonly peerOr: TokenAccess };

declare module "fastify" {
  interface FastifyContextConfig {
    access?: Access;
  }
  interface FastifyRequest {
    /** Null on public routes, and until the token was found valid. */
    principal: Principal | null;
  }
}

const REALM = 'Bearer realm="cairn"';
/** As the node makes them: 256 random bits, which no number of guesses finds. */
const MADE_TOKEN = /^cairn_[\w-]{43}$/;

export interface AuthDeps {
  readonly tokens: Pick<Tokens, "authenticate">;
  readonly peers: Peers;
  /** This one. */
  readonly node: { readonly name: string };
  readonly security: SecurityLog;
  readonly clock: Clock;
  readonly limits: LockoutLimits;
}

export function installAuth(server: Server, { tokens, peers, node, security, clock, limits }: AuthDeps): void {
  const lockout = new TokenLockout(limits);
  const addresses = new WeakMap<Socket, string>();
  server.decorateRequest("principal", null);

  /** IPv6 addresses by their network of 64 bits: one client has as many as it likes. */
  function addressOf({ socket, ip }: FastifyRequest): string {
    const cached = addresses.get(socket);
    if (cached !== undefined) return cached;
    // A closed connection has no address.
    const normal = normalizeIP(ip ?? "");
    // A program of this machine has all of 127.0.0.0/8.
    const address = normal.startsWith("127.") ? "127.0.0.0/8" : normal;
    addresses.set(socket, address);
    return address;
  }

  async function authenticate(request: FastifyRequest, reply: FastifyReply, token: string): Promise<Principal> {
    const address = addressOf(request);
    const digest = hash("sha256", token, "base64url");
    const caller = callerOfLog(request);

    async function check(): Promise<Principal | null> {
      try {
        return await tokens.authenticate(token);
      } catch (error) {
        if (!(error instanceof RuntimeError && error.code === "RUNTIME_TOKEN_EXPIRED")) throw error;
        security.record({ event: "token.expired", outcome: "refused", ...caller });
        reply.header("www-authenticate", `${REALM}, error="invalid_token", error_description="The token expired"`);
        throw error;
      }
    }

    const waitMs = lockout.tryToken(address, digest, clock.monotonic());
    if (waitMs > 0) {
      // What others try from the same address, such as that of a proxy, keeps no such token out.
      const made = MADE_TOKEN.test(token) ? await check() : null;
      if (made !== null) {
        lockout.right(address, digest);
        return made;
      }
      security.record({ event: "token.locked_out", outcome: "refused", ...caller });
      throw tooManyWrong(waitMs);
    }
    const principal = await check().catch((error: unknown) => {
      lockout.unknown(address, digest);
      throw error;
    });
    if (principal !== null) {
      lockout.right(address, digest);
      return principal;
    }
    security.record({ event: "token.wrong", outcome: "refused", ...caller });
    countWrong(request, digest);
    throw unauthorized(reply, "The token is not valid.", 'error="invalid_token"');
  }

  function countWrong(request: FastifyRequest, digest: string): void {
    const network = addressOf(request);
    if (!lockout.wrong(network, digest, clock.monotonic())) return;
    const details = { network, seconds: limits.lockoutMs / 1000 };
    security.record({ event: "token.lockout", outcome: "done", ...callerOfLog(request), details });
  }

  /** Null for a token of a client. A signature cannot be guessed: it is checked also while the address is locked out. */
  async function authenticatePeer(request: FastifyRequest, reply: FastifyReply, token: string) {
    const verdict = await peers.authenticate(token, { method: request.method, path: request.raw.url ?? "" });
    if (verdict === null) return null;
    if ("peer" in verdict) return principalOf(verdict.peer);
    const details = { node: verdict.claimed, reason: verdict.refusal.reason };
    security.record({ event: "peer.refused", outcome: "refused", ...callerOfLog(request), details });
    if (isGuess(verdict)) {
      const digest = hash("sha256", token, "base64url");
      const waitMs = lockout.tryToken(addressOf(request), digest, clock.monotonic());
      if (waitMs > 0) throw tooManyWrong(waitMs);
      countWrong(request, digest);
    }
    const refused = peerRefused(verdict, node.name);
    if (refused.status === 401) reply.header("www-authenticate", `${REALM}, error="invalid_token"`);
    throw refused;
  }

  async function admit(request: FastifyRequest, reply: FastifyReply, access: Exclude<Access, "public">): Promise<void> {
    const token = bearerToken(request);
    if (token === null) throw unauthorized(reply, "A token is needed: Authorization: Bearer <token>.");
    const principal = (await authenticatePeer(request, reply, token)) ?? (await authenticate(request, reply, token));
    request.principal = principal;
    const forTokens = tokenAccess(access);
    if (principal.peer !== undefined) {
      if (admitsPeers(access)) return;
      throw new RuntimeError(
        "RUNTIME_FORBIDDEN",
        "Other nodes have no access here: a token of this service is needed.",
      );
    }
    if (forTokens === null)
      throw new RuntimeError("RUNTIME_FORBIDDEN", "Only other nodes of the fleet have access here.");
    const needed = forTokens === "token" ? [] : [forTokens].flat();
    const missing = needed.find((scope) => !principal.scopes.has(scope));
    if (missing === undefined) return;
    reply.header("www-authenticate", `${REALM}, error="insufficient_scope", scope="${needed.join(" ")}"`);
    throw new RuntimeError("RUNTIME_FORBIDDEN", `This token lacks the scope "${missing}".`);
  }

  server.addHook("onRequest", (request, reply, done) => {
    const access = request.routeOptions.config.access ?? "admin";
    if (access === "public") done();
    else admit(request, reply, access).then(() => done(), done);
  });
}

/** What tokens need on a route that is not public; null where none has access. */
export function tokenAccess(access: Exclude<Access, "public">): TokenAccess | null {
  if (access === "peer") return null;
  return typeof access === "object" && "peerOr" in access ? access.peerOr : access;
}

function admitsPeers(access: Exclude<Access, "public">): boolean {
  return access === "peer" || (typeof access === "object" && "peerOr" in access);
}

function callerOfLog(request: FastifyRequest): { readonly address: string; readonly requestId: string } {
  return { address: request.ip ?? "", requestId: request.id };
}

function tooManyWrong(waitMs: number): RuntimeError {
  const details = {
    retryAfterS: waitMs / 1000,
    hint: "Tokens that a node has made, and those that this address has used before, are still accepted.",
  };
  return new RuntimeError("RUNTIME_RATE_LIMITED", "Too many wrong tokens from this address.", details);
}

/** The caller of a route that is not public. */
export function callerOf(request: FastifyRequest): Principal {
  if (request.principal === null) throw new RuntimeError("RUNTIME_UNAUTHORIZED", "A token is needed.");
  return request.principal;
}

/** The node that calls a route for peers. */
export function peerOf(request: FastifyRequest): NodeEntry {
  const { peer } = callerOf(request);
  if (peer === undefined)
    throw new RuntimeError("RUNTIME_FORBIDDEN", "Only other nodes of the fleet have access here.");
  return peer;
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
