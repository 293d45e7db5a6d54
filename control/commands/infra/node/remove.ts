import { Args, Flags } from "@oclif/core";
import { backendFlag, eventsFlag, InfraCommand, yesFlag } from "../../../deploy/infra-command.ts";
import { removeNode } from "../../../deploy/operations/nodes/remove-node.ts";
import type { NodeRemoveResult } from "../../../deploy/schemas.ts";
import { nodeRemoveText } from "../../../deploy/words.ts";
import { EXIT } from "../../../output/failure.ts";
import type { Interruption } from "../../../output/interruption.ts";
import type { Mark } from "../../../output/terminal.ts";

export default class InfraNodeRemove extends InfraCommand<NodeRemoveResult | null> {
  static override description =
    "Take a node out of the stack, while the others run\n\n" +
    "The node ends its turns and stops; its entry leaves cairn.yaml, and ports and numbers of the others stay what they are. Its data " +
    "are kept where they are, or go into an archive in backups/, or are deleted: for both of these the node's name has to be typed. " +
    "Refused while an agent could run on no other node.";

  static override examples = [
    "<%= config.bin %> infra node remove worker",
    "<%= config.bin %> infra node remove worker --data archive --confirm worker",
  ];

  static override args = { name: Args.string({ required: true, ignoreStdin: true, description: "The node's name" }) };

  static override flags = {
    yes: yesFlag,
    data: Flags.option({
      options: ["keep", "archive", "delete"] as const,
      default: "keep",
      description: "What becomes of its home and its workspaces",
    })(),
    confirm: Flags.string({
      helpValue: "NAME",
      description: "The node's name, for --data without a terminal: no other question follows",
    }),
    backend: backendFlag,
    "json-events": eventsFlag,
  };

  protected async work(interruption: Interruption): Promise<NodeRemoveResult | null> {
    const { args, flags } = await this.parse(InfraNodeRemove);
    const { data, confirm } = flags;
    // Who types the name has agreed.
    const yes = flags.yes || confirm !== undefined;
    return this.operate(flags, interruption, (run) => removeNode(run, { node: args.name, data, confirm, yes }));
  }

  protected override exitCodeOf(result: NodeRemoveResult | null): number {
    return result === null ? EXIT.failed : EXIT.done;
  }

  protected render(result: NodeRemoveResult | null, mark: Mark): string {
    return result === null ? "Nothing was removed." : nodeRemoveText(result, mark);
  }
}
