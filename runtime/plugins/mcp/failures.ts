/** What the library throws, in words of ours. What a server says of itself is not among them: it may say anything. */

import { StreamableHTTPError } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js";
import { ZodError } from "zod";
import { ToolError } from "../../contracts/errors.ts";
import { codeOf } from "../../contracts/system-errors.ts";
import { ConnectionFailure } from "./connection-failure.ts";

/** Why there is no connection, as a sentence without its full stop. */
export function connectionReason(error: unknown): string {
  if (error instanceof ConnectionFailure) return error.message;
  if (error instanceof StreamableHTTPError) return httpReason(error);
  if (error instanceof ZodError || error instanceof SyntaxError) return "its answer does not follow the protocol";
  if (error instanceof McpError) {
    if (error.code === ErrorCode.RequestTimeout) return "it did not answer in time";
    if (error.code === ErrorCode.ConnectionClosed) return "it closed the connection";
    return `it refused the connection with error ${error.code}`;
  }
  if (error instanceof Error && error.message.includes("protocol version")) {
    return "it speaks a version of the protocol that this program does not know";
  }
  const code = codeOf(error) ?? (error instanceof Error ? codeOf(error.cause) : undefined);
  return code === undefined ? "it cannot be reached" : `it cannot be reached (${code})`;
}

/** Of a call that got no result. `ended`: why the connection ended meanwhile; null: it did not. */
export function callFailure(server: string, error: unknown, ended: string | null): ToolError {
  const name = `The MCP server ${server}`;
  if (ended !== null) {
    return unknownOutcome(`${name} did not answer the call: ${ended}.`);
  }
  if (error instanceof ConnectionFailure) return notConnected(server, error.message);
  if (error instanceof StreamableHTTPError) {
    return new ToolError("TOOL_FAILED", `${name} refused the call: ${httpReason(error)}.`, { cause: error });
  }
  if (error instanceof ZodError) {
    return new ToolError("TOOL_FAILED", `${name} answered the call with something that is no result.`, {
      cause: error,
    });
  }
  return unknownOutcome(`${name} did not answer the call: ${connectionReason(error)}.`);
}

export function timedOut(server: string, timeoutMs: number): ToolError {
  return unknownOutcome(`The MCP server ${server} did not answer the call within ${timeoutMs / 1_000} s.`);
}

export function notConnected(server: string, reason: string | null): ToolError {
  return new ToolError(
    "TOOL_FAILED",
    `The MCP server ${server} is not connected${reason === null ? "" : `: ${reason}`}.`,
  );
}

export function stopped(): ToolError {
  return new ToolError("TOOL_ABORTED", "The call was stopped.");
}

function unknownOutcome(message: string): ToolError {
  return new ToolError(
    "TOOL_OUTCOME_UNKNOWN",
    `${message} Whether it had its effect is unknown: check before you repeat it.`,
  );
}

function httpReason({ code = 0 }: StreamableHTTPError): string {
  if (code === 401) return "it wants another authorization (HTTP 401)";
  if (code === 404) return "it does not know the address or the session (HTTP 404)";
  if (code >= 300 && code < 400) return `it redirects to another server, which is not followed (HTTP ${code})`;
  return code > 0 ? `HTTP ${code}` : "its answer does not follow the protocol";
}
