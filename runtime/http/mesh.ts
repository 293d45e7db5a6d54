/** The nodes of the fleet: those that share the store, and the members of the mesh that have one of their own. */

import { z } from "zod";
import type { PeerPing } from "../app/api.ts";
import { MEMBER_STATES } from "../contracts/node-entry.ts";
import { clientGone } from "./connections.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorBodySchema, errorSchema, nameSchema, ok, success } from "./schemas.ts";

const pingSchema = z.object({
  node_id: z.string(),
  name: z.string(),
  version: z.string().describe("Of Cairn."),
  state: z.enum(["online", "draining"]),
  time: z.string().describe("ISO 8601, by its clock."),
});
const nodeSchema = z.object({
  id: z.string(),
  name: z.string(),
  version: z.string().describe("Of Cairn."),
  schema: z.number().describe("The latest migration that it knows."),
  address: z.string().nullable().describe("Where other nodes reach it; null: it has named no address."),
  certificate_sha256: z.string().nullable().describe("Fingerprint of its certificate; null without TLS."),
  next_certificate_sha256: z.string().nullable().describe("Of the one that follows it."),
  agents: z.array(z.string()).describe("Those that it is configured to host."),
  hosts: z.array(z.string()).describe("Those whose turns it runs now."),
  heard_at: z.string().nullable().describe("When it is known to have lived last, ISO 8601."),
  status: z
    .enum(MEMBER_STATES)
    .describe("`offline`: it ended, or lost the database, without saying so; `suspect`: it was not heard for a while."),
  shares_database: z.boolean().describe("Whether it works on the same database as the node that answers."),
  self: z.boolean().describe("Whether it is the node that answers."),
});

/** A healthy node answers in a few milliseconds, one far away in a few hundred. */
const PING_MS = 5_000;

const peerPingSchema = z.object({
  id: z.string(),
  name: z.string(),
  ms: z.number().nullable().describe("Until it had answered; null where it has not."),
  clock_ahead_s: z.number().nullable().describe("By how much its clock is ahead of this node's; negative: behind."),
  error: errorBodySchema.nullable().describe("Why it has not answered."),
});

function toPing({ error, ...ping }: PeerPing): z.input<typeof peerPingSchema> {
  if (error === null) return { ...ping, error };
  const { code, message, severity, retryable, hint } = error;
  return { ...ping, error: { code, message, severity, retryable, ...(hint === undefined ? {} : { hint }) } };
}

export function registerMesh(server: Server, { app, clock, closing }: RouteDeps): void {
  server.get(
    "/api/mesh/ping",
    {
      config: { access: { peerOr: "token" } },
      schema: {
        tags: ["mesh"],
        summary: "Whether this node lives, and who it is: for other nodes, and for any token",
        response: { 200: success(pingSchema) },
      },
    },
    async () =>
      ok({
        node_id: app.node.id,
        name: app.node.name,
        version: app.version,
        state: app.lifecycle.draining ? ("draining" as const) : ("online" as const),
        time: clock.now().toISOString(),
      }),
  );

  server.get(
    "/api/mesh/peers",
    {
      config: { access: "admin" },
      schema: {
        tags: ["mesh"],
        summary: "Asks the other nodes who they are: which ones this node reaches, and why not the others",
        querystring: z.strictObject({
          node: nameSchema(255).optional().describe("Only the node of this name or id."),
          timeout_ms: z.coerce
            .number()
            .int()
            .min(1)
            .max(PING_MS)
            .default(PING_MS)
            .describe("Until a node must have answered."),
        }),
        response: { 200: success(z.object({ pings: z.array(peerPingSchema) })), 404: errorSchema },
      },
    },
    async (request, reply) => {
      const gone = clientGone(reply);
      const { node, timeout_ms: timeoutMs } = request.query;
      const pings = await app.reachability.ping({ node, timeoutMs, signal: AbortSignal.any([gone, closing]) });
      return ok({ pings: pings.map(toPing) });
    },
  );

  server.get(
    "/api/mesh",
    {
      config: { access: "token" },
      schema: {
        tags: ["mesh"],
        summary: "The nodes that share the store, and the members of the mesh",
        response: { 200: success(z.object({ nodes: z.array(nodeSchema) })) },
      },
    },
    async () => {
      const members = await app.members();
      const nodes = members.map(({ entry, state, heard_at, hosts, shares_database }) => ({
        id: entry.id,
        name: entry.name,
        version: entry.release,
        schema: entry.schema,
        address: entry.address,
        certificate_sha256: entry.certificate_sha256,
        next_certificate_sha256: entry.next_certificate_sha256,
        agents: [...entry.agents],
        hosts: [...hosts],
        heard_at,
        status: state,
        shares_database,
        self: entry.id === app.node.id,
      }));
      return ok({ nodes });
    },
  );
}
