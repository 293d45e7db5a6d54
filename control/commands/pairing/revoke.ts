import { Args } from "@oclif/core";
import type { PairingRecord } from "../../../runtime/contracts/pairing.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { visible } from "../../output/visible.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class PairingRevoke extends NodeCommand<PairingRecord> {
  static override description =
    "Take nothing of a person any more\n\nTheir conversations stay in the memory. With pairing on they may ask again.";

  static override examples = ["<%= config.bin %> pairing revoke telegram 123456789"];

  static override args = {
    channel: Args.string({ ignoreStdin: true, required: true, description: "As in `channels.<id>`" }),
    user: Args.string({
      ignoreStdin: true,
      required: true,
      description: "The person's id on the platform, as `pairing list` shows it",
    }),
  };

  protected async work({ signal }: Interruption): Promise<PairingRecord> {
    const { args, flags } = await this.parse(PairingRevoke);
    const { channel, user } = args;
    return withNode(findDeployment(flags), signal, (client) => client.revokePairing(channel, user, { signal }), flags);
  }

  protected render({ channel, user, name }: PairingRecord): string {
    return `The channel ${channel} takes nothing of ${visible(name)} (${visible(user)}) any more.`;
  }
}
