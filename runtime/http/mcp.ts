/**
 * POST /mcp: the memory tools over the Model Context Protocol, streamable HTTP without sessions. Whatever is refused before
 * the protocol is reached (tokens, origins, sizes) is a JSON-RPC error all the same; see errors.ts.
 */

import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { callerOf } from "./auth.ts";
import { clientGone } from "./connections.ts";
import type { RouteDeps, Server } from "./deps.ts";
import { jsonRpcErrorSchema } from "./schemas.ts";

export function registerMcp(server: Server, deps: RouteDeps): void {
  const { app, limits } = deps;
  // The protocol's schemas take longer to load than a node to start: loaded at the first request of the protocol.
  let loaded: Promise<typeof import("./mcp-protocol.ts")> | undefined;
  const load = () => {
    loaded ??= import("./mcp-protocol.ts");
    return loaded;
  };

  server.post(
    "/mcp",
    {
      bodyLimit: limits.bodyBytes,
      config: { access: "memory" },
      schema: {
        tags: ["memory"],
        summary: "The memory tools over the Model Context Protocol",
        description:
          "Streamable HTTP without sessions: every answer is JSON, and nothing is kept between two requests.",
        body: z.unknown().describe("A JSON-RPC message, or several."),
        response: { 200: z.unknown(), 202: z.unknown().describe("A notification was taken."), 406: jsonRpcErrorSchema },
      },
    },
    async (request, reply) => {
      const { name } = callerOf(request);
      const { answerMcp } = await load();
      const signal = clientGone(reply);
      const answer = await answerMcp(webRequest(request), request.body, {
        tools: app.memoryTools,
        version: app.version,
        logger: request.log,
        caller: `token ${name}`,
        signal,
      });
      return pass(reply, answer);
    },
  );
}

async function pass(reply: FastifyReply, answer: Response): Promise<FastifyReply> {
  for (const [name, value] of answer.headers) reply.header(name, value);
  return reply
    .code(answer.status)
    .serializer(String)
    .send(await answer.text());
}

/** Only its head: the body has been read, within the limit, and parsed. */
function webRequest({ headers, method }: FastifyRequest): Request {
  const pairs = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    [value ?? []].flat().map((one) => [name, one]),
  );
  // The transport requires an address and does not use it.
  return new Request("http://localhost/mcp", { method, headers: pairs });
}
