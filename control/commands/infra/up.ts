import { Flags } from "@oclif/core";
import { backendFlag, eventsFlag, InfraCommand, yesFlag } from "../../deploy/infra-command.ts";
import { up } from "../../deploy/operations/up.ts";
import type { UpResult } from "../../deploy/schemas.ts";
import { upText } from "../../deploy/words.ts";
import { EXIT } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";

export default class InfraUp extends InfraCommand<UpResult | null> {
  static override description =
    "Deploy what the configuration says\n\n" +
    "Shows the changes and asks, then applies them and waits until the nodes are healthy. Nodes without an image get the one that " +
    "was built last; where there is none, it is built or pulled. A change that would stop more than one running node is refused: " +
    "--node takes one after the other. Data that stand on the target already are taken over after a question and never " +
    "overwritten. The exit code is 0 when every node is healthy, else 1.";

  static override examples = [
    "<%= config.bin %> infra up",
    "<%= config.bin %> infra up --yes --json",
    "<%= config.bin %> infra up --node worker --image registry.example.org/team/cairn@sha256:0123...",
  ];

  static override flags = {
    yes: yesFlag,
    node: Flags.string({ helpValue: "NAME", description: "Change this node alone, and what it needs" }),
    image: Flags.string({
      helpValue: "IMAGE",
      description: "Give the nodes this image: a name, an id or repository@sha256:...",
    }),
    adopt: Flags.boolean({ description: "Take over data of an earlier stack without asking" }),
    backend: backendFlag,
    "json-events": eventsFlag,
  };

  protected async work(interruption: Interruption): Promise<UpResult | null> {
    const { flags } = await this.parse(InfraUp);
    const { node, image, adopt, yes } = flags;
    return this.operate(flags, interruption, (run) => up(run, { node, image, adopt, yes }));
  }

  protected override exitCodeOf(result: UpResult | null): number {
    return result?.healthy ? EXIT.done : EXIT.failed;
  }

  protected render(result: UpResult | null, mark: Mark): string {
    return result === null ? "Nothing was changed." : upText(result, mark);
  }
}
