/** The nodes of the fleet: those that share the store. */

import { z } from "zod";
import { MEMBER_STATES } from "../contracts/node-entry.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { ok, success } from "./schemas.ts";

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
  status: z.enum(MEMBER_STATES).describe("`offline`: it ended, or lost the database, without saying so."),
  self: z.boolean().describe("Whether it is the node that answers."),
});

export function registerMesh(server: Server, { app, clock }: RouteDeps): void {
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
    "/api/mesh",
    {
      config: { access: "token" },
      schema: {
        tags: ["mesh"],
        summary: "The nodes that share the store",
        response: { 200: success(z.object({ nodes: z.array(nodeSchema) })) },
      },
    },
    async () => {
      const members = await app.members();
      const nodes = members.map(({ entry, state, hosts }) => ({
        id: entry.id,
        name: entry.name,
        version: entry.release,
        schema: entry.schema,
        address: entry.address,
        certificate_sha256: entry.certificate_sha256,
        next_certificate_sha256: entry.next_certificate_sha256,
        agents: [...entry.agents],
        hosts: [...hosts],
        status: state,
        self: entry.id === app.node.id,
      }));
      return ok({ nodes });
    },
  );
}
