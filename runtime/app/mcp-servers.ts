/** MCP servers as those who look after a node see them: how they are, and tools that wait for an approval. */

import type { McpServerReport } from "../contracts/health-report.ts";

export interface McpServers {
  report(): Readonly<Record<string, McpServerReport>>;
  /** RUNTIME_NOT_FOUND; RUNTIME_NOT_READY where the server is not connected. */
  changes(id: string): ChangedMcpTools;
  /** Takes the tools of the server as they were seen; how many had changed. As above, and RUNTIME_CONFLICT with other changes by now. */
  approve(id: string, digest: string): Promise<number>;
}

/** Tools that are withheld because what they say of themselves has changed. */
export interface ChangedMcpTools {
  /** As `McpServerReport.changed_digest`. */
  readonly digest: string | null;
  /** As a model would be shown them. */
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly parameters: Readonly<Record<string, unknown>>;
  }[];
}
