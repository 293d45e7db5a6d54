import { Args, Flags } from "@oclif/core";
import { forget, selectionOf } from "../../memory/forget.ts";
import { type Forgotten, renderForgotten } from "../../memory/render-forgotten.ts";
import { NodeCommand } from "../../node-command.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class MemoryForget extends NodeCommand<Forgotten> {
  static override description =
    "Erase messages for good\n\n" +
    "Shows first what would go; then the number of messages has to be typed. Their texts, calls, results, attachments, vectors and words go, " +
    "and what summaries and wiki pages say of them; a tombstone and a line in the audit log stay. For the owner's token. " +
    "Backups that were made before still hold them. A run that was cut off is finished by the same command.";

  static override examples = [
    "<%= config.bin %> memory forget 01a20dfa-ae70-722d-9994-20336e6e93a1",
    "<%= config.bin %> memory forget --matching 'hunter2' --dry-run",
    "<%= config.bin %> memory forget --user 4711 --channel telegram --reason 'left the company'",
    "<%= config.bin %> memory forget --session agent:main:agent:default:work --confirm 12",
  ];

  static override strict = false;

  static override args = {
    ids: Args.string({ ignoreStdin: true, description: "Ids of messages, as `memory search` prints them" }),
  };

  static override flags = {
    conversation: Flags.string({ helpValue: "ID", description: "All messages of this conversation" }),
    session: Flags.string({ helpValue: "KEY", description: "All messages of this session, with its turns" }),
    user: Flags.string({ helpValue: "NAME", description: "All conversations of this user of a channel" }),
    channel: Flags.string({
      helpValue: "NAME",
      dependsOn: ["user"],
      description: "With --user: on this channel alone",
    }),
    matching: Flags.string({ helpValue: "TEXT", description: "Messages that hold this text, in any case" }),
    reason: Flags.string({
      helpValue: "WHY",
      default: "the owner asked for it",
      description: "Kept with the tombstones; name nothing in it that is to be forgotten",
    }),
    "dry-run": Flags.boolean({ exclusive: ["confirm"], description: "Only show what would go" }),
    confirm: Flags.integer({
      helpValue: "NUMBER",
      min: 0,
      description: "The number of messages, instead of typing it",
    }),
  };

  protected async work({ signal }: Interruption): Promise<Forgotten> {
    const { argv, flags } = await this.parse(MemoryForget);
    const selection = selectionOf(argv.map(String), flags);
    const { reason, confirm, "dry-run": dryRun } = flags;
    const given = { selection, reason, confirm, dryRun, signal, terminal: this.terminal };
    return withNode(findDeployment(flags), signal, (client) => forget(client, given), flags);
  }

  protected override exitCodeOf({ outcome }: Forgotten): number {
    return outcome === "declined" ? EXIT.failed : EXIT.done;
  }

  protected render(result: Forgotten, mark: Mark): string {
    return renderForgotten(result, mark);
  }
}
