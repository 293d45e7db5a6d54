import type { PairingRecord } from "../../../runtime/contracts/pairing.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { columns, type Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface PairingListResult {
  readonly pairings: readonly PairingRecord[];
}

export default class PairingList extends NodeCommand<PairingListResult> {
  static override description =
    "List who may write to chat channels beside the owner, and who has asked to\n\n" +
    "A channel with pairing: true gives a code to a person who writes to it, for an hour; `pairing approve` takes it.";

  static override examples = ["<%= config.bin %> pairing list", "<%= config.bin %> pairing list --json"];

  protected async work({ signal }: Interruption): Promise<PairingListResult> {
    const { flags } = await this.parse(PairingList);
    return withNode(
      findDeployment(flags),
      signal,
      async (client) => ({ pairings: await client.pairings({ signal }) }),
      flags,
    );
  }

  protected render({ pairings }: PairingListResult, mark: Mark): string {
    if (pairings.length === 0) return "Nobody beside the owner is admitted, and nobody has asked within the last hour.";
    const head = ["CHANNEL", "USER", "NAME", "STATE"];
    const rows = pairings.map(({ channel, user, name, approved_at, expires_at }) => [
      channel,
      visible(user),
      visible(name),
      approved_at === null ? mark.dim(`has a code until ${expires_at}`) : mark.good(`admitted ${approved_at}`),
    ]);
    return columns([head, ...rows]);
  }
}
