/** The one HTTP server: what holds for every route is here, the routes in a file a group. */

import Fastify, { type FastifyServerOptions, LogController } from "fastify";
import { validatorCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import { registerAdmin } from "./admin.ts";
import { registerAgentTurns } from "./agent-turns.ts";
import { registerAgents } from "./agents.ts";
import { registerApprovals } from "./approvals.ts";
import { installAuth } from "./auth.ts";
import { installBodyBudget, installJsonParser } from "./bodies.ts";
import { registerCapture } from "./capture.ts";
import { installGracefulClose, installLingeringClose, limitConnections } from "./connections.ts";
import { DEFAULT_LIMITS, type RouteDeps, type Server, type ServerDeps } from "./deps.ts";
import { clientError, frameworkError, installErrorHandling } from "./errors.ts";
import { registerForget } from "./forget.ts";
import { registerHealth } from "./health.ts";
import { registerJobs } from "./jobs.ts";
import { registerLogins } from "./logins.ts";
import { registerMcp } from "./mcp.ts";
import { registerMcpServers } from "./mcp-servers.ts";
import { registerMemory } from "./memory.ts";
import { registerMesh } from "./mesh.ts";
import { registerMeshMembership } from "./mesh-membership.ts";
import { installMethodCheck } from "./methods.ts";
import { installRequestMetrics, registerMetrics } from "./metrics.ts";
import { registerOpenAi } from "./openai.ts";
import { installOpenApi, registerOpenApi } from "./openapi.ts";
import { installOriginCheck } from "./origin.ts";
import { registerPairings } from "./pairings.ts";
import { registerReading } from "./reading.ts";
import { limitPipelining, limitRequests } from "./requests-at-work.ts";
import { registerRollouts } from "./rollouts.ts";
import { registerRoot } from "./root.ts";
import { registerSchedules } from "./schedules.ts";
import { installSecurityEvents } from "./security-events.ts";
import { registerTokens } from "./tokens.ts";
import { registerUsage } from "./usage.ts";
import { registerVoice } from "./voice.ts";
import { registerWebhooks } from "./webhooks.ts";

const REQUEST_TIMEOUT_MS = 4 * 60 * 60_000;

/** Not yet listening: see listenOn. `close()` ends event streams in order, answers waiting requests, then closes connections. */
export function createServer(deps: ServerDeps): Server {
  const limits = { ...DEFAULT_LIMITS, ...deps.limits };
  const server = build(
    {
      loggerInstance: deps.logger,
      // One line a request, from our own hook below.
      logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "request_id" }),
      bodyLimit: limits.smallBodyBytes,
      genReqId: ({ headers }) => usableId(headers["x-request-id"]) ?? deps.newId(),
      // Of a whole request, an archive on a slow line included: half a request must not hold a connection for ever.
      requestTimeout: REQUEST_TIMEOUT_MS,
      routerOptions: { maxParamLength: 512 },
      frameworkErrors: frameworkError,
      clientErrorHandler: (error, socket) => clientError(error, socket, limits.lingerMs),
      // Ours, with the envelope: see connections.ts.
      return503OnClosing: false,
    },
    deps.tls,
  );
  server.setValidatorCompiler(validatorCompiler);
  // A form of another web page can send plain text without asking first; JSON it cannot.
  server.removeContentTypeParser("text/plain");
  // Answers are typed by their schemas; checking them again for every request would only cost time.
  server.setSerializerCompiler(() => JSON.stringify);

  limitPipelining(server);
  limitConnections(server, limits.connections);
  const closing = installGracefulClose(server, limits.closeMs);
  installLingeringClose(server, limits.lingerMs);
  installRequestMetrics(server, deps.metrics);
  // Hooks that wait for nothing take a callback: a promise for each of them is what most requests would spend their time on.
  server.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id);
    reply.header("x-content-type-options", "nosniff");
    reply.header("cache-control", "no-store");
    done();
  });
  installOriginCheck(server, deps.hostNames ?? []);
  installErrorHandling(server);
  const { tokens, peers, node } = deps.app;
  installAuth(server, { tokens, peers, node, security: deps.security, clock: deps.clock, limits });
  limitRequests(server, limits);
  installSecurityEvents(server, deps.security);
  installBodyBudget(server, limits);
  installJsonParser(server, limits);
  const refuseOtherMethods = installMethodCheck(server);
  installOpenApi(server, deps.app.version);
  server.addHook("onResponse", (request, reply, done) => {
    const { method, routeOptions, principal } = request;
    const log = {
      method,
      route: routeOptions.url,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      by: principal?.name,
      address: request.ip,
    };
    if (method === "GET" && !routeOptions.config.audit) request.log.debug(log, "request");
    else request.log.info(log, "request");
    done();
  });

  const shared: RouteDeps = { ...deps, limits, closing };
  server.register(async (scope: Server) => {
    registerRoot(scope);
    registerHealth(scope, shared);
    registerMetrics(scope, shared);
    registerMemory(scope, shared);
    registerCapture(scope, shared);
    registerAgents(scope, shared);
    registerAgentTurns(scope, shared);
    registerVoice(scope, shared);
    registerOpenAi(scope, shared);
    registerMcp(scope, shared);
    registerAdmin(scope, shared);
    registerTokens(scope, shared);
    registerPairings(scope, shared);
    registerApprovals(scope, shared);
    registerLogins(scope, shared);
    registerMcpServers(scope, shared);
    registerWebhooks(scope, shared);
    registerForget(scope, shared);
    registerJobs(scope, shared);
    registerUsage(scope, shared);
    registerSchedules(scope, shared);
    registerReading(scope, shared);
    registerMesh(scope, shared);
    registerRollouts(scope, shared);
    registerMeshMembership(scope, shared);
    registerOpenApi(scope);
  });
  server.register(async () => refuseOtherMethods());
  return server;
}

function build(options: FastifyServerOptions, tls: ServerDeps["tls"]): Server {
  const https = tls && { cert: tls.cert, key: tls.key, minVersion: "TLSv1.2" };
  // The types take `https` only with another class of server; behind the same interface, the routes are the same.
  const all = (https ? { ...options, https } : options) as FastifyServerOptions;
  return Fastify(all).withTypeProvider<ZodTypeProvider>();
}

/** A caller's own request id, where it is allowed in a header and a log line. */
function usableId(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" && /^[\w.:@/+=-]{1,128}$/.test(header) ? header : undefined;
}
