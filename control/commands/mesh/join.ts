import { Args, Flags } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import { joinMesh, type MeshJoinResult } from "../../mesh/join.ts";
import { isToken, notAnArgument, readToken } from "../../mesh/read-token.ts";
import { renderJoined } from "../../mesh/render-membership.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class MeshJoin extends BaseCommand<MeshJoinResult> {
  static override summary = "Join the mesh of another node, with a token that it has made";

  static override description =
    "The token is asked for, or read from a file or standard input; the certificate of HOST must be the one that it names. Turns " +
    "mesh.enabled on and writes HOST into mesh.seeds. A node that runs with the mesh on joins at once, another one at its next start.";

  static override examples = [
    "<%= config.bin %> mesh join nova.example.org",
    "<%= config.bin %> mesh join nova.example.org:7433 --token-file join-token",
    "<%= config.bin %> mesh join nova.example.org --advertise iris.example.org:7433 --token-file - < join-token",
  ];

  static override args = {
    host: Args.string({
      ignoreStdin: true,
      description: "Where the other node is reached (default: as the token says)",
    }),
  };

  static override flags = {
    "token-file": Flags.string({
      helpValue: "FILE",
      description: "The token, its first line; - is standard input (default: asked for on a terminal)",
    }),
    name: Flags.string({ helpValue: "NAME", description: "Name of this node in the mesh (mesh.name)" }),
    advertise: Flags.string({
      helpValue: "ADDRESS",
      description: "Where other nodes reach this one (mesh.advertise); without it it calls, and is not called",
    }),
  };

  protected async work({ signal }: Interruption): Promise<MeshJoinResult> {
    const { args, flags } = await this.parse(MeshJoin);
    if (args.host !== undefined && isToken(args.host)) throw notAnArgument("HOST is an address");
    const note = (text: string): Promise<void> => this.note(text);
    const token = await readToken({ file: flags["token-file"], terminal: this.terminal, signal, note });
    const { name, advertise } = flags;
    return joinMesh({ deployment: findDeployment(flags), host: args.host, token, name, advertise, signal });
  }

  protected render(result: MeshJoinResult, mark: Mark): string {
    return renderJoined(result, mark);
  }
}
