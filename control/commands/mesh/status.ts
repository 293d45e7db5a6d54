import { type Fleet, readFleet } from "../../mesh/fleet.ts";
import { renderFleet } from "../../mesh/render-fleet.ts";
import { NodeCommand } from "../../node-command.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class MeshStatus extends NodeCommand<Fleet> {
  static override description =
    "Show the fleet in one view: each node, whether the node that answers (*) reaches it, and first what is wrong\n\n" +
    "The exit code is 0 when nothing is wrong, else 1. A node that was stopped is not wrong.";

  static override examples = [
    "<%= config.bin %> mesh status",
    "<%= config.bin %> mesh status --json | jq -r '.problems[] | \"\\(.node): \\(.message)\"'",
  ];

  protected async work({ signal }: Interruption): Promise<Fleet> {
    const { flags } = await this.parse(MeshStatus);
    return withNode(findDeployment(flags), signal, (client) => readFleet(client, signal), flags);
  }

  protected override exitCodeOf({ problems }: Fleet): number {
    return problems.length === 0 ? EXIT.done : EXIT.failed;
  }

  protected render(fleet: Fleet, mark: Mark): string {
    return renderFleet(fleet, mark, new Date());
  }
}
