import type { MeshNode } from "../../../runtime/client/index.ts";
import { renderNodes } from "../../mesh/render-nodes.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface MeshListResult {
  readonly nodes: readonly MeshNode[];
}

export default class MeshList extends NodeCommand<MeshListResult> {
  static override description =
    "List the nodes that share the database: whether they run, their version, and the agents whose turns they run now\n\n" +
    "The node that answers has a *. `offline` is one that ended, or lost the database, without saying so: its agents are taken over.";

  static override examples = [
    "<%= config.bin %> mesh list",
    "<%= config.bin %> mesh list --json | jq -r '.nodes[] | select(.status == \"offline\") | .name'",
  ];

  protected async work({ signal }: Interruption): Promise<MeshListResult> {
    const { flags } = await this.parse(MeshList);
    return withNode(findDeployment(flags), signal, async (client) => ({ nodes: await client.mesh({ signal }) }), flags);
  }

  protected render({ nodes }: MeshListResult, mark: Mark): string {
    return renderNodes(nodes, mark);
  }
}
