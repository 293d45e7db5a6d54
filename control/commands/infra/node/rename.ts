import { Args } from "@oclif/core";
import { backendFlag, eventsFlag, InfraCommand, yesFlag } from "../../../deploy/infra-command.ts";
import { renameNode } from "../../../deploy/operations/nodes/rename-node.ts";
import type { NodeRenameResult } from "../../../deploy/schemas.ts";
import { nodeRenameText } from "../../../deploy/words.ts";
import { EXIT } from "../../../output/failure.ts";
import type { Interruption } from "../../../output/interruption.ts";
import type { Mark } from "../../../output/terminal.ts";

export default class InfraNodeRename extends InfraCommand<NodeRenameResult | null> {
  static override description =
    "Give a node of the stack another name, while the others run\n\n" +
    "The node ends its turns and stops; its data are copied under the new name, cairn.yaml is changed with the agents that are bound " +
    "to it, and it starts and is tested. Where that fails it comes back under its former name. The data under the former name stay. " +
    "Exit codes: 0 done, 1 failed (it has its former name), 4 needs an operator.";

  static override examples = ["<%= config.bin %> infra node rename worker builder"];

  static override args = {
    from: Args.string({ required: true, ignoreStdin: true, description: "The node's name" }),
    to: Args.string({ required: true, ignoreStdin: true, description: "The name that it gets" }),
  };

  static override flags = { yes: yesFlag, backend: backendFlag, "json-events": eventsFlag };

  protected async work(interruption: Interruption): Promise<NodeRenameResult | null> {
    const { args, flags } = await this.parse(InfraNodeRename);
    const { from, to } = args;
    return this.operate(flags, interruption, (run) => renameNode(run, { from, to, yes: flags.yes }));
  }

  protected override exitCodeOf(result: NodeRenameResult | null): number {
    if (result?.outcome === "operator") return EXIT.operator;
    return result?.outcome === "renamed" ? EXIT.done : EXIT.failed;
  }

  protected render(result: NodeRenameResult | null, mark: Mark): string {
    return result === null ? "Nothing was changed." : nodeRenameText(result, mark);
  }
}
