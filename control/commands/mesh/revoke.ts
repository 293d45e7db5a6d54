import { Args, Flags } from "@oclif/core";
import { type Departed, revoke } from "../../mesh/depart.ts";
import { renderRevoked } from "../../mesh/render-membership.ts";
import { NodeCommand } from "../../node-command.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { openConnection } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class MeshRevoke extends NodeCommand<Departed<"revoked">> {
  static override summary = "Revoke a node: no member accepts it again";

  static override description =
    "For a machine that was lost, or whose key may be known to others. Holds for ever, for every version of the node, and spreads " +
    "from member to member; those whom the node had admitted stay. A node that shares the database ends by itself: change the " +
    "database's password as well, which it knows.";

  static override examples = [
    "<%= config.bin %> mesh revoke nova",
    "<%= config.bin %> mesh revoke 5f0c6a1e9b7d42c88f3e2a1b0c9d8e7f --confirm 5f0c6a1e9b7d42c88f3e2a1b0c9d8e7f",
  ];

  static override args = {
    member: Args.string({
      ignoreStdin: true,
      required: true,
      description: "Name of the node, as `mesh list` shows it, or its id, which is in --json",
    }),
  };

  static override flags = {
    confirm: Flags.string({ helpValue: "NAME", description: "The same once more, instead of typing it" }),
  };

  protected async work({ signal }: Interruption): Promise<Departed<"revoked">> {
    const { args, flags } = await this.parse(MeshRevoke);
    const connection = await openConnection(findDeployment(flags), signal, flags);
    try {
      return await revoke(connection.client, args.member, { confirm: flags.confirm, signal, terminal: this.terminal });
    } finally {
      await connection.close();
    }
  }

  protected override exitCodeOf({ outcome }: Departed<"revoked">): number {
    return outcome === "declined" ? EXIT.failed : EXIT.done;
  }

  protected render(result: Departed<"revoked">, mark: Mark): string {
    return renderRevoked(result, mark);
  }
}
