/** The Model Context Protocol of a node, message by message: for a proxy between a client and the node. */

import { type Connection, notANode, readJson, request } from "./http.ts";
import type { CallOptions } from "./types.ts";

/** What a node refuses there, it refuses in the protocol's own words. */
const REFUSALS = [400, 401, 403, 405, 406, 413, 415, 429, 500, 503];

/** See Client.mcp. As long as the tool takes, unless the options have a deadline. */
export async function postMcp(
  connection: Connection,
  message: object,
  options: CallOptions = {},
): Promise<object | null> {
  const response = await request(connection, "/mcp", {
    method: "POST",
    json: message,
    headers: { accept: "application/json, text/event-stream" },
    accept: REFUSALS,
    timeoutMs: 0,
    ...options,
  });
  if (response.status === 202) return null;
  const body = await readJson(connection, response, options.signal);
  if (typeof body === "object" && body !== null && "jsonrpc" in body) return body;
  throw notANode(connection.baseUrl, response.status);
}
