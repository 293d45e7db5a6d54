import { Args } from "@oclif/core";
import type { PeerPing } from "../../../runtime/client/index.ts";
import { renderPings } from "../../mesh/render-fleet.ts";
import { NodeCommand } from "../../node-command.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface MeshPingResult {
  readonly pings: readonly PeerPing[];
}

export default class MeshPing extends NodeCommand<MeshPingResult> {
  static override description =
    "Let the node ask the other nodes of the fleet who they are: whether it reaches them, how long it takes, or why not\n\n" +
    "The exit code is 0 when all that were asked have answered, else 1. CLOCK is how far the other node's clock is ahead.";

  static override examples = ["<%= config.bin %> mesh ping", "<%= config.bin %> mesh ping attic --json"];

  static override args = {
    peer: Args.string({
      ignoreStdin: true,
      description: "Name of the node to ask, as `mesh list` shows it, or its id, which is in --json (default: all)",
    }),
  };

  protected async work({ signal }: Interruption): Promise<MeshPingResult> {
    const { args, flags } = await this.parse(MeshPing);
    const ping = { signal, node: args.peer };
    return withNode(findDeployment(flags), signal, async (client) => ({ pings: await client.pingPeers(ping) }), flags);
  }

  protected override exitCodeOf({ pings }: MeshPingResult): number {
    return pings.every(({ error }) => error === null) ? EXIT.done : EXIT.failed;
  }

  protected render({ pings }: MeshPingResult, mark: Mark): string {
    return renderPings(pings, mark);
  }
}
