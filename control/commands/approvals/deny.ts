import { Args } from "@oclif/core";
import type { DecidedApproval } from "../../../runtime/contracts/approvals.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { visible } from "../../output/visible.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class ApprovalsDeny extends NodeCommand<DecidedApproval> {
  static override description =
    "Refuse the call that waits for your word\n\nThe agent is told so, and goes on without it.";

  static override examples = ["<%= config.bin %> approvals deny 5f3a91c2"];

  static override args = {
    id: Args.string({ ignoreStdin: true, required: true, description: "Its id, or the last eight digits" }),
  };

  protected async work({ signal }: Interruption): Promise<DecidedApproval> {
    const { args, flags } = await this.parse(ApprovalsDeny);
    return withNode(
      findDeployment(flags),
      signal,
      (client) => client.decide(args.id, { decision: "deny" }, { signal }),
      flags,
    );
  }

  protected render({ agent, tool }: DecidedApproval): string {
    return `The call of ${visible(tool)} by ${agent} is denied.`;
  }
}
