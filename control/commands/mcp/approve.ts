import { Args, Flags } from "@oclif/core";
import type { ChangedMcpTools } from "../../../runtime/client/index.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface McpApproveResult extends ChangedMcpTools {
  /** Of `tools`; 0 without --confirm. */
  readonly approved: number;
}

/** Characters of a tool's arguments that are shown; all of them are in --json. */
const MAX_ARGUMENTS = 2_000;

export default class McpApprove extends NodeCommand<McpApproveResult> {
  static override description =
    "Show the changed tools of an MCP server, and offer them as they were shown\n\n" +
    "A tool whose description or arguments have changed since it was first seen is withheld from agents: it could give them orders. " +
    "Without --confirm the tools are shown as a model would see them, with their digest. With it they are offered, unless they " +
    "have changed again.";

  static override examples = [
    "<%= config.bin %> mcp approve github",
    "<%= config.bin %> mcp approve github --confirm 5f0c6a1e9b7d42c88f3e2a1b0c9d8e7f",
  ];

  static override args = {
    server: Args.string({ ignoreStdin: true, required: true, description: "As in `mcp.servers.<id>`" }),
  };

  static override flags = {
    confirm: Flags.string({ helpValue: "DIGEST", description: "Offer the tools that were shown with this digest" }),
  };

  protected async work({ signal }: Interruption): Promise<McpApproveResult> {
    const { args, flags } = await this.parse(McpApprove);
    const { confirm } = flags;
    return withNode(
      findDeployment(flags),
      signal,
      async (client) => {
        const changes = await client.changedMcpTools(args.server, { signal });
        if (confirm === undefined || changes.digest === null) return { ...changes, approved: 0 };
        // The node refuses it when the tools are others by now.
        const { approved } = await client.approveMcpTools(args.server, confirm, { signal });
        return { ...changes, approved };
      },
      flags,
    );
  }

  protected render({ server, digest, tools, approved }: McpApproveResult, mark: Mark): string {
    const id = visible(server);
    if (digest === null) return `No tool of ${id} was withheld.`;
    if (approved > 0)
      return `${approved} changed ${approved === 1 ? "tool" : "tools"} of ${id} will be offered in a moment.`;
    return [
      `Of ${id} ${tools.length} changed ${tools.length === 1 ? "tool is" : "tools are"} withheld:`,
      ...tools.map((tool) => renderTool(tool, mark)),
      `To offer them so: cairn mcp approve ${id} --confirm ${visible(digest)}`,
    ].join("\n\n");
  }
}

function renderTool({ name, description, parameters }: ChangedMcpTools["tools"][number], mark: Mark): string {
  const all = JSON.stringify(parameters);
  const more = all.length - MAX_ARGUMENTS;
  const shown = more > 0 ? `${all.slice(0, MAX_ARGUMENTS)} ... (${more} more characters, in --json)` : all;
  const lines = visible(`${description}\nArguments: ${shown}`).split("\n");
  return [mark.name(visible(name)), ...lines.map((line) => `  ${line}`)].join("\n");
}
