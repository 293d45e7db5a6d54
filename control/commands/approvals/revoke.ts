import { Args } from "@oclif/core";
import type { StandingApproval } from "../../../runtime/contracts/approvals.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { visible } from "../../output/visible.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class ApprovalsRevoke extends NodeCommand<StandingApproval> {
  static override description =
    "Ask again about a call that was approved for good\n\n`approvals list --standing` shows the ids.";

  static override examples = ["<%= config.bin %> approvals revoke 01a2f3c4-0000-7000-8000-00005f3a91c2"];

  static override args = {
    id: Args.string({ ignoreStdin: true, required: true, description: "The whole id" }),
  };

  protected async work({ signal }: Interruption): Promise<StandingApproval> {
    const { args, flags } = await this.parse(ApprovalsRevoke);
    return withNode(findDeployment(flags), signal, (client) => client.revokeApproval(args.id, { signal }), flags);
  }

  protected render({ agent, tool }: StandingApproval): string {
    return `This call of ${visible(tool)} by ${agent} is asked about again.`;
  }
}
