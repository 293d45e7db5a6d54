/** The nodes of the mesh; a node that has joined none is its only one. */

import { z } from "zod";
import type { RouteDeps, Server } from "./deps.ts";
import { ok, success } from "./schemas.ts";

const pingSchema = z.object({ node_id: z.string(), name: z.string(), version: z.string() });
const nodeSchema = z.object({
  id: z.string(),
  name: z.string(),
  version: z.string(),
  agents: z.array(z.string()),
  status: z.enum(["online", "draining"]),
  self: z.boolean(),
});

export function registerMesh(server: Server, { app }: RouteDeps): void {
  server.get(
    "/api/mesh/ping",
    {
      config: { access: "public" },
      schema: {
        tags: ["mesh"],
        summary: "Whether this peer lives, and who it is",
        response: { 200: success(pingSchema) },
      },
    },
    async () => ok({ node_id: app.node.id, name: app.node.name, version: app.version }),
  );

  server.get(
    "/api/mesh",
    {
      config: { access: "token" },
      schema: {
        tags: ["mesh"],
        summary: "The nodes of the mesh",
        response: { 200: success(z.object({ nodes: z.array(nodeSchema) })) },
      },
    },
    async () => {
      const status: "online" | "draining" = app.lifecycle.draining ? "draining" : "online";
      const agents = app.agents().map(({ name }) => name);
      return ok({ nodes: [{ ...app.node, version: app.version, agents, status, self: true }] });
    },
  );
}
