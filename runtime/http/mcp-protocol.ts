/**
 * One exchange of the Model Context Protocol: a server for each request, since nothing is kept between two of them.
 * What a tool refuses is a result (`isError`) that a model can read and correct; a tool that is not here is a
 * protocol error.
 */

import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type Tool,
} from "@modelcontextprotocol/sdk/types.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv-provider.js";
import type { FastifyBaseLogger } from "fastify";
import type { MemoryTools } from "../app/api.ts";
import { MEMORY_TOOL_DEFINITIONS, MEMORY_WRITE_TOOL_DEFINITIONS } from "../app/memory-tools.ts";
import type { CairnError } from "../contracts/errors.ts";
import { translate } from "./errors.ts";

export interface McpContext {
  readonly tools: MemoryTools;
  readonly version: string;
  readonly logger: Pick<FastifyBaseLogger, "debug" | "error">;
  /** The caller, for bounds on single callers. */
  readonly caller: string;
  /** Aborts running calls: their answers are not awaited any more. */
  readonly signal: AbortSignal;
}

const INSTRUCTIONS =
  "The memory of a Cairn node: every conversation in full. memory_search finds what was said, memory_browse reads it in order.";

// Made for each server otherwise, although nothing here needs what it would check.
const VALIDATOR = new AjvJsonSchemaValidator();

/** The answer to one POST, `body` being its parsed JSON. Rejects with the signal's reason when the client disconnects. */
export async function answerMcp(head: Request, body: unknown, context: McpContext): Promise<Response> {
  const server = createMcpServer(context);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  const { promise: gone, reject } = Promise.withResolvers<never>();
  gone.catch(() => undefined);
  const onGone = () => reject(context.signal.reason);
  context.signal.addEventListener("abort", onGone, { once: true });
  try {
    context.signal.throwIfAborted();
    await server.connect(transport);
    return await Promise.race([transport.handleRequest(head, { parsedBody: body ?? null }), gone]);
  } finally {
    context.signal.removeEventListener("abort", onGone);
    // Aborts what still runs.
    await server.close();
  }
}

function createMcpServer({ tools, version, logger, caller }: McpContext): Server {
  const server = new Server(
    { name: "cairn", title: "Cairn", version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator: VALIDATOR },
  );
  server.onerror = (error) => logger.debug({ err: error }, "a message of the Model Context Protocol was refused");
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: describe(tools.names()) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }): Promise<CallToolResult> => {
    const { name, arguments: args = {} } = params;
    if (!tools.names().includes(name)) {
      throw new McpError(ErrorCode.InvalidParams, `There is no tool "${name.slice(0, 100)}" here.`);
    }
    try {
      const result = await tools.call(name, args, { visibility: { all: true }, name: caller, signal });
      return { content: [{ type: "text", text: JSON.stringify(result) }] };
    } catch (error) {
      signal.throwIfAborted();
      return failed(translate(error), logger);
    }
  });
  return server;
}

function describe(names: readonly string[]): Tool[] {
  const listed = (definitions: typeof MEMORY_TOOL_DEFINITIONS, annotations: Tool["annotations"]) =>
    definitions
      .filter(({ name }) => names.includes(name))
      .map(({ name, description, parameters }): Tool => {
        // Made of object schemas.
        const inputSchema = parameters as Tool["inputSchema"];
        return { name, description, inputSchema, annotations: { ...annotations, openWorldHint: false } };
      });
  return [
    ...listed(MEMORY_TOOL_DEFINITIONS, { readOnlyHint: true }),
    ...listed(MEMORY_WRITE_TOOL_DEFINITIONS, { readOnlyHint: false, destructiveHint: false, idempotentHint: true }),
  ];
}

function failed(error: CairnError, logger: McpContext["logger"]): CallToolResult {
  if (error.status >= 500 && !error.retryable) logger.error({ err: error.details.cause ?? error }, "a tool failed");
  return { isError: true, content: [{ type: "text", text: JSON.stringify({ ok: false, error: error.toBody() }) }] };
}
