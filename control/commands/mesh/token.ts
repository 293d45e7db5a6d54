import type { JoinTokenResult } from "../../../runtime/client/index.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { openConnection } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class MeshToken extends NodeCommand<JoinTokenResult> {
  static override summary = "Make a token that lets one node join the mesh within an hour";

  static override description =
    "It says where this node is and which certificate it shows, so that the node that joins knows whom it talks to. Any node that " +
    "has it can join: " +
    "hand it over like a password, as a file or on standard input of `mesh join` or `init --join`.";

  static override examples = [
    "<%= config.bin %> mesh token > join-token",
    "<%= config.bin %> mesh token --json | jq -r .token | ssh nova 'cairn mesh join nova.example.org --token-file -'",
  ];

  protected async work({ signal }: Interruption): Promise<JoinTokenResult> {
    const { flags } = await this.parse(MeshToken);
    const connection = await openConnection(findDeployment(flags), signal, flags);
    try {
      const made = await connection.client.createJoinToken({ signal });
      await this.note(`Lets one node join at ${made.url} until ${made.expires_at}. It is shown only once.`);
      return made;
    } finally {
      await connection.close();
    }
  }

  protected render({ token }: JoinTokenResult): string {
    return token;
  }
}
