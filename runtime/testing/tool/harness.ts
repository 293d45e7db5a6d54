/** What the author of a tool hands to the checks. */

import type { Tool, ToolContext } from "../../contracts/tool.ts";

export interface OpenTool {
  readonly tool: Tool;
  /** What a call gets as its context, besides the usual one, such as a workspace of the test's own. */
  readonly context?: Partial<ToolContext>;
  close?(): Promise<void>;
}

export type ToolArguments = Readonly<Record<string, unknown>>;

export interface ToolHarness {
  /** A tool of its own for each check. */
  open(): Promise<OpenTool>;
  /** Of a call that succeeds; absent: its checks are left out. */
  readonly valid?: ToolArguments;
  /** Of a call that its schema allows and that fails all the same; absent: there is none. */
  readonly failing?: ToolArguments;
  /** Of a call that would take a minute or more; absent: there is none. */
  readonly slow?: ToolArguments;
}
