import { Flags } from "@oclif/core";
import { type Departed, leave } from "../../mesh/depart.ts";
import { renderLeave } from "../../mesh/render-membership.ts";
import { NodeCommand } from "../../node-command.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { openConnection } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class MeshLeave extends NodeCommand<Departed<"left">> {
  static override summary = "Take this node out of its mesh";

  static override description =
    "It says goodbye to the members, is removed everywhere, and gives up its key: its next start has another identity, which can " +
    "join with a token. Its memory stays. A node that shares its database with others is a member by that, and cannot leave. A " +
    "revoked node gets a new identity in the same way.";

  static override examples = ["<%= config.bin %> mesh leave", "<%= config.bin %> mesh leave --confirm nova --json"];

  static override flags = {
    force: Flags.boolean({ description: "Also where no other member can be told of it" }),
    confirm: Flags.string({ helpValue: "NAME", description: "The node's name, instead of typing it" }),
  };

  protected async work({ signal }: Interruption): Promise<Departed<"left">> {
    const { flags } = await this.parse(MeshLeave);
    const { force, confirm } = flags;
    const connection = await openConnection(findDeployment(flags), signal, flags);
    try {
      return await leave(connection.client, { force, confirm, signal, terminal: this.terminal });
    } finally {
      await connection.close();
    }
  }

  protected override exitCodeOf({ outcome }: Departed<"left">): number {
    return outcome === "declined" ? EXIT.failed : EXIT.done;
  }

  protected render(result: Departed<"left">, mark: Mark): string {
    return renderLeave(result, mark);
  }
}
