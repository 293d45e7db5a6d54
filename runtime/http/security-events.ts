/**
 * What routes leave in the security log: one line when their handler begins, one with the outcome. On routes that need no token only
 * the outcome, and all but success is a refusal: those are counted, since anybody can cause them.
 */

import type { FastifyReply, FastifyRequest, preHandlerHookHandler } from "fastify";
import type { SecurityEvent, SecurityEventName, SecurityLog } from "../contracts/security-log.ts";
import type { Server } from "./deps.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The event of this route; the request's log line is then of the level info, for GET, too. */
    audit?: SecurityEventName;
  }
  interface FastifyRequest {
    /** Further fields of the line about the outcome; a handler sets them. */
    auditDetails: SecurityEvent["details"] | null;
  }
}

/** After authentication: the handler of a refused request never begins. To be called before any route is added. */
export function installSecurityEvents(server: Server, security: SecurityLog): void {
  server.decorateRequest("auditDetails", null);
  const record: preHandlerHookHandler = (request, reply, done) => {
    recordOutcome(security, request, reply);
    done();
  };
  // Only on routes that have an event: the others have no cost.
  server.addHook("onRoute", (route) => {
    const before = [route.preHandler ?? []].flat();
    if (route.config?.audit !== undefined && !before.includes(record)) route.preHandler = [record, ...before];
  });
  server.addHook("onResponse", (request, reply, done) => {
    if (reply.statusCode === 403) {
      const { method, routeOptions } = request;
      const details = { method, route: routeOptions.url };
      security.record({ event: "access.refused", outcome: "refused", ...originOf(request), details });
    }
    done();
  });
}

function recordOutcome(security: SecurityLog, request: FastifyRequest, reply: FastifyReply): void {
  const { audit } = request.routeOptions.config;
  if (audit === undefined) return;
  const about = { event: audit, ...originOf(request) };
  const isPublic = request.principal === null;
  if (!isPublic) security.record({ ...about, outcome: "begun" });
  let answered = false;
  reply.raw.once("finish", () => {
    answered = true;
  });
  reply.raw.once("close", () => {
    const details = request.auditDetails ? { details: request.auditDetails } : {};
    const { statusCode } = reply.raw;
    const outcome = !answered ? "cut" : statusCode >= 400 ? "failed" : "done";
    const isRefused = statusCode === 403 || (isPublic && outcome !== "done");
    security.record({ ...about, outcome: isRefused ? "refused" : outcome, ...details });
  });
}

function originOf({ ip, principal, id }: FastifyRequest): Pick<SecurityEvent, "address" | "by" | "requestId"> {
  return { address: ip ?? "", requestId: id, ...(principal ? { by: principal.name } : {}) };
}
