/** What an MCP server is reached with, in the words of this plugin. */

import { createHash } from "node:crypto";

export interface McpServerSettings {
  /** As in `mcp.servers.<id>`. */
  readonly id: string;
  readonly target: StdioTarget | HttpTarget;
  /** Deadline of one call. */
  readonly timeoutMs: number;
  /** The server's own names; all of its tools when absent. */
  readonly include?: readonly string[] | undefined;
  readonly exclude: readonly string[];
}

/** A program that speaks over its standard streams. */
export interface StdioTarget {
  readonly kind: "stdio";
  readonly command: string;
  readonly args: readonly string[];
  /** All that it sees besides the few variables of environment.ts. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
}

export interface HttpTarget {
  readonly kind: "http";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Where no authorization is written down. */
  readonly login?: LoginSource | undefined;
}

/** Tokens of a login to the server. Rejects with an error that says what the operator can do. */
export interface LoginSource {
  /** Makes a login. */
  readonly command: string;
  /** One that counts now; null without a login. */
  token(signal?: AbortSignal): Promise<string | null>;
  /** Another one than that which was refused. */
  renew(refused: string, signal?: AbortSignal): Promise<string>;
}

/** Names what is connected to: with another program or address the operator has chosen another server. Holds no secret. */
export function targetDigest({ target }: McpServerSettings): string {
  const named = target.kind === "stdio" ? [target.command, ...target.args] : [target.url];
  return createHash("sha256").update(JSON.stringify(named)).digest("hex");
}
