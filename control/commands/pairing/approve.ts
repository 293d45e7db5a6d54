import { Args } from "@oclif/core";
import type { PairingRecord } from "../../../runtime/contracts/pairing.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { visible } from "../../output/visible.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class PairingApprove extends NodeCommand<PairingRecord> {
  static override description =
    "Admit the person who was given this code\n\n" +
    "Their messages are answered as another user's: with sessions, a workspace and limits of their own.";

  static override examples = ["<%= config.bin %> pairing approve ABCD-EFGH"];

  static override args = {
    code: Args.string({
      ignoreStdin: true,
      required: true,
      description: "The code that the person was shown",
    }),
  };

  protected async work({ signal }: Interruption): Promise<PairingRecord> {
    const { args, flags } = await this.parse(PairingApprove);
    return withNode(findDeployment(flags), signal, (client) => client.approvePairing(args.code, { signal }), flags);
  }

  protected render({ channel, user, name }: PairingRecord): string {
    return `${visible(name)} (${visible(user)}) may write to the channel ${channel} from now on.`;
  }
}
