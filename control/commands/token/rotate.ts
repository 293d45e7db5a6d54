import { Flags } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import { type Rotation, rotateOwnerToken } from "../../configuration/owner-token.ts";
import type { Interruption } from "../../output/interruption.ts";
import { startProgress } from "../../output/progress.ts";
import type { Mark } from "../../output/terminal.ts";
import { visible } from "../../output/visible.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface TokenRotateResult extends Omit<Rotation, "token"> {
  /** Null without --show. */
  readonly token: string | null;
}

export default class TokenRotate extends BaseCommand<TokenRotateResult> {
  static override description =
    "Give the owner another token\n\n" +
    "Writes a new SERVICE_API_TOKEN into .env and restarts the node of this machine with it, if one runs: as `restart` does, " +
    "after a trial start, and without losing a turn. The former token is refused from then on; a deployed stack keeps it " +
    "until `infra up`. Where the command is interrupted after it has written, `restart` completes it.";

  static override examples = ["<%= config.bin %> token rotate", "<%= config.bin %> token rotate --show"];

  static override flags = {
    show: Flags.boolean({ description: "Print the new token, which is else only in .env" }),
  };

  protected async work({ signal }: Interruption): Promise<TokenRotateResult> {
    const { flags } = await this.parse(TokenRotate);
    const progress = startProgress(this.terminal);
    try {
      const onStep = (step: string): void => progress.update(step);
      const rotation = await rotateOwnerToken(findDeployment(flags), { signal, onStep });
      return { ...rotation, token: flags.show ? rotation.token : null };
    } finally {
      await progress.end();
    }
  }

  protected render({ token, file, node, holders }: TokenRotateResult, mark: Mark): string {
    return [
      `${mark.good("The owner has another token")}: SERVICE_API_TOKEN in ${file}.`,
      node === null
        ? "No node runs on this machine; the next one that starts takes it."
        : `The node was restarted with it (process ${node.pid}, ${node.url}); the former token is refused.`,
      ...holders.map(({ kind, name, command }) =>
        kind === "stack"
          ? `${mark.warn("Note:")} the stack ${visible(name)} has the former one until \`${command}\`, and refuses commands till then.`
          : `${mark.warn("Note:")} capture for ${visible(name)} was given the former one: run \`${command}\`.`,
      ),
      "Programs, terminals and machines that were given the former one need the new one.",
      ...(token === null ? [] : [token]),
    ].join("\n");
  }
}
