import { Args, Flags } from "@oclif/core";
import type { ShownRow } from "../../../runtime/client/index.ts";
import { renderShown } from "../../memory/render-shown.ts";
import { NodeCommand } from "../../node-command.ts";
import { UsageError } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class MemoryShow extends NodeCommand<ShownRow> {
  static override description =
    "Show a message or a summary whole, with what stands around it\n\n" +
    "A message comes with its neighbours in the conversation, a summary with the summaries and messages that it is made from. " +
    "Ids are what `cairn memory search` and `cairn memory browse` print; the beginning of one is enough where no other begins so.";

  static override examples = [
    "<%= config.bin %> memory show 0199aa10-7c1e-7000-8000-1f2e3d4c5b6a",
    "<%= config.bin %> memory show 0199aa10-7c1e-70 --around 10",
  ];

  static override args = {
    id: Args.string({ ignoreStdin: true, required: true, description: "Id of a message or a summary" }),
  };

  static override flags = {
    around: Flags.integer({
      min: 0,
      max: 50,
      default: 2,
      helpValue: "N",
      description: "Neighbours on each side of a message",
    }),
  };

  protected override readonly ownWords = false;

  protected async work({ signal }: Interruption): Promise<ShownRow> {
    const { args, flags } = await this.parse(MemoryShow);
    if (!/^[0-9a-f]{8}[0-9a-f-]{0,28}$/i.test(args.id)) {
      throw new UsageError(
        `${args.id} is no id.`,
        "Pass an id as `cairn memory search` prints it, or at least its first eight digits.",
      );
    }
    return withNode(
      findDeployment(flags),
      signal,
      (client) => client.showRow(args.id, { around: flags.around }, { signal }),
      { node: flags.node },
    );
  }

  protected render(shown: ShownRow, mark: Mark): string {
    return renderShown(shown, mark);
  }
}
