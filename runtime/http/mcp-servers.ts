/** The MCP servers whose tools agents get: /health says how they are, and the operator approves tools that have changed. */

import { z } from "zod";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";

export function registerMcpServers(server: Server, { app }: RouteDeps): void {
  server.post(
    "/api/admin/mcp-servers/:id/approve",
    {
      config: { access: "admin", audit: "mcp.approved" },
      schema: {
        tags: ["admin"],
        summary:
          "Offer the tools of an MCP server as they are now, also those that have changed since they were first seen",
        params: z.object({ id: z.string().max(100) }),
        response: {
          200: success(z.object({ server: z.string(), approved: z.number().describe("Tools that had changed.") })),
          404: errorSchema,
        },
      },
    },
    async (request) => {
      const { id } = request.params;
      const approved = await app.mcpServers.approve(id);
      request.auditDetails = { server: id, approved };
      return ok({ server: id, approved });
    },
  );
}
