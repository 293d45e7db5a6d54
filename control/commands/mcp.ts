import process from "node:process";
import { serveMcp } from "../mcp/serve.ts";
import { NodeCommand } from "../node-command.ts";
import type { Interruption } from "../output/interruption.ts";
import { withNode } from "../service/connect.ts";
import { findDeployment } from "../service/deployment.ts";

export default class Mcp extends NodeCommand<void> {
  static override description =
    "Serve the memory to a program that speaks the Model Context Protocol, on standard input and output\n\n" +
    "For assistants that start their servers themselves. The tools are those of the running node; where none runs, one is started " +
    "for the time of the session, and nothing else can use the memory meanwhile. It ends when its input does. Programs that speak " +
    "HTTP can go to /mcp of the node.";

  static override examples = ["<%= config.bin %> mcp", "claude mcp add cairn -- <%= config.bin %> mcp --dir ~/cairn"];

  #serving = false;

  /** From here on the output is the protocol's alone: neither a result nor an error is a document on it. */
  override jsonEnabled(): boolean {
    return !this.#serving && super.jsonEnabled();
  }

  protected async work({ signal }: Interruption): Promise<void> {
    const { flags } = await this.parse(Mcp);
    await withNode(
      findDeployment(flags),
      signal,
      async (client, { shortLived }) => {
        this.#serving = true;
        if (shortLived) await this.note("No node runs: one was started for this session.");
        const { stdin: input, stdout: output } = process;
        await serveMcp(client, { input, output, signal, warn: (text) => void this.note(text) });
      },
      flags,
    );
  }

  protected render(): string {
    return "";
  }
}
