/** The MCP servers whose tools agents get: /health says how they are; the operator sees which tools have changed, and approves them. */

import { z } from "zod";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";

const params = z.object({ id: z.string().max(100) });
const changesSchema = z.object({
  server: z.string(),
  digest: z.string().nullable().describe("Null where no tool has changed."),
  tools: z.array(
    z.object({ name: z.string(), description: z.string(), parameters: z.record(z.string(), z.unknown()) }),
  ),
});

export function registerMcpServers(server: Server, { app }: RouteDeps): void {
  server.get(
    "/api/admin/mcp-servers/:id/changes",
    {
      config: { access: "admin" },
      schema: {
        tags: ["admin"],
        summary:
          "The tools of an MCP server that have changed since they were first seen, as a model would be shown them",
        params,
        response: { 200: success(changesSchema), 404: errorSchema },
      },
    },
    async (request) => {
      const { digest, tools } = app.mcpServers.changes(request.params.id);
      return ok({ server: request.params.id, digest, tools: [...tools] });
    },
  );

  server.post(
    "/api/admin/mcp-servers/:id/approve",
    {
      config: { access: "admin", audit: "mcp.approved" },
      schema: {
        tags: ["admin"],
        summary:
          "Offer the tools of an MCP server that have changed since they were first seen, as /changes has shown them",
        params,
        body: z.object({ digest: z.string().max(100).describe("Of /changes or /health.") }),
        response: {
          200: success(z.object({ server: z.string(), approved: z.number().describe("Tools that had changed.") })),
          404: errorSchema,
          409: errorSchema.describe("The tools have changed again: nothing was approved."),
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      const approved = await app.mcpServers.approve(id, request.body.digest);
      request.auditDetails = { server: id, approved };
      return ok({ server: id, approved });
    },
  );
}
