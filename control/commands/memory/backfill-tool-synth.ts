import { Flags } from "@oclif/core";
import type { BackfillResult } from "../../../runtime/client/index.ts";
import { renderBackfill } from "../../memory/render-queues.ts";
import { NodeCommand } from "../../node-command.ts";
import type { Interruption } from "../../output/interruption.ts";
import { withNode } from "../../service/connect.ts";
import { findDeployment } from "../../service/deployment.ts";

export default class MemoryBackfillToolSynth extends NodeCommand<BackfillResult> {
  static override description =
    "Queue a job for every old tool call without content, which writes the sentence that makes it findable\n\n" +
    "Calls whose job waits, runs or has failed for good are left alone, so that it can be repeated. The jobs run on a node that " +
    "has a model for them.";

  static override examples = [
    "<%= config.bin %> memory backfill-tool-synth --dry-run",
    "<%= config.bin %> memory backfill-tool-synth",
  ];

  static override flags = { "dry-run": Flags.boolean({ description: "Only count" }) };

  protected async work({ signal }: Interruption): Promise<BackfillResult> {
    const { flags } = await this.parse(MemoryBackfillToolSynth);
    const options = { dryRun: flags["dry-run"], signal };
    return withNode(findDeployment(flags), signal, (client) => client.backfillToolSynth(options), flags);
  }

  protected render(result: BackfillResult): string {
    return renderBackfill(result);
  }
}
