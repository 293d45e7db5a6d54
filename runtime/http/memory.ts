/** The memory tools over HTTP: arguments and return value are the tool's own. */

import { z } from "zod";
import { MemoryError } from "../contracts/errors.ts";
import type { Visibility } from "../contracts/memory.ts";
import { callerOf } from "./auth.ts";
import { clientGone } from "./connections.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { errorSchema, ok, success } from "./schemas.ts";

/** A token with the scope `memory` was given by the owner to read the memory: it sees what the owner sees. */
const EVERYTHING: Visibility = { all: true };

export function registerMemory(server: Server, { app, limits }: RouteDeps): void {
  server.post(
    "/api/memory/tool/:name",
    {
      bodyLimit: limits.bodyBytes,
      config: { access: "memory" },
      // Gating comes before everything else: a tool that is not offered does not read its arguments either.
      preParsing: async (request) => {
        // Validated as a string by the route's schema; this runs before it.
        const { name } = request.params as { name: string };
        if (!app.memoryTools.names().includes(name)) throw unknownTool(name);
      },
      schema: {
        tags: ["memory"],
        summary: "Call a memory tool",
        description:
          "The body holds the tool's arguments; `result` is the tool's own return value. The write tools exist only where they are enabled.",
        params: z.object({ name: z.string().describe("Such as memory_search.") }),
        body: z.record(z.string(), z.unknown()).nullish(),
        response: { 200: success(z.unknown()), 404: errorSchema, 409: errorSchema },
      },
    },
    async (request, reply) => {
      const name = `token ${callerOf(request).name}`;
      const caller = { visibility: EVERYTHING, name, signal: clientGone(reply) };
      return ok(await app.memoryTools.call(request.params.name, request.body ?? {}, caller));
    },
  );
}

function unknownTool(name: string): MemoryError {
  return new MemoryError("MEMORY_TOOL_UNKNOWN", `There is no memory tool "${name.slice(0, 100)}" here.`);
}
