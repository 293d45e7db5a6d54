import { Args } from "@oclif/core";
import type { ApprovedMcpTools } from "../../../runtime/client/index.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { visible } from "../../output/visible.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class McpApprove extends NodeCommand<ApprovedMcpTools> {
  static override description =
    "Offer the tools of an MCP server as they are now\n\n" +
    "A tool whose description or arguments have changed since it was first seen is withheld from agents: it could give them orders. " +
    "Look at the server's changes first; `status` names the tools.";

  static override examples = ["<%= config.bin %> mcp approve github"];

  static override args = {
    server: Args.string({ ignoreStdin: true, required: true, description: "As in `mcp.servers.<id>`" }),
  };

  protected async work({ signal }: Interruption): Promise<ApprovedMcpTools> {
    const { args, flags } = await this.parse(McpApprove);
    return withNode(findDeployment(flags), signal, (client) => client.approveMcpTools(args.server, { signal }), flags);
  }

  protected render({ server, approved }: ApprovedMcpTools): string {
    if (approved === 0) return `No tool of ${visible(server)} was withheld.`;
    return `${approved} changed ${approved === 1 ? "tool" : "tools"} of ${visible(server)} will be offered in a moment.`;
  }
}
