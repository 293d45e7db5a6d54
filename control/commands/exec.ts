import process from "node:process";
import { Flags } from "@oclif/core";
import { execa } from "execa";
import { BaseCommand } from "../base-command.ts";
import type { PartCommand } from "../deploy/driver.ts";
import { refuseLost } from "../deploy/part-commands.ts";
import { UsageError } from "../output/failure.ts";
import type { Interruption } from "../output/interruption.ts";
import { refuseUndeployed } from "../service/deployed-node.ts";
import { findDeployment } from "../service/deployment.ts";
import { choosePart, toolMissing } from "../service/stack-parts.ts";

export default class Exec extends BaseCommand<number> {
  static override summary = "Run a command beside a deployed node, or beside the database";

  static override description =
    "Runs it in the container of the node, as the node's user and with its environment. Standard input, output and the terminal are " +
    "the command's own, and so is the exit code. On docker, Proxmox and Kubernetes; a node of this machine needs none of it.";

  static override examples = [
    "<%= config.bin %> exec -- sh",
    "<%= config.bin %> exec --node nova-2 -- node --version",
    "<%= config.bin %> exec --postgres -- psql -U postgres cairn",
  ];

  static override usage = "exec [--node NAME | --postgres] -- COMMAND...";

  static override flags = {
    node: Flags.string({ helpValue: "NAME", description: "Node to run it beside (default: the first)" }),
    postgres: Flags.boolean({ exclusive: ["node"], description: "Run it beside the stack's PostgreSQL" }),
  };

  #running = false;

  /** From here on the output is the command's alone: neither a result nor an error is a document on it. */
  override jsonEnabled(): boolean {
    return !this.#running && super.jsonEnabled();
  }

  protected async work({ signal }: Interruption): Promise<number> {
    // What follows `--` is passed on as it is, and is nothing to parse.
    const at = this.argv.indexOf("--");
    const words = at === -1 ? [] : this.argv.slice(at + 1);
    const { flags } = await this.parse(Exec, at === -1 ? this.argv : this.argv.slice(0, at));
    if (words.length === 0) {
      throw new UsageError("There is no command to run.", "Write it behind two dashes: `cairn exec -- COMMAND...`.");
    }
    const deployment = findDeployment(flags);
    const chosen = await choosePart(deployment, flags, signal);
    if (chosen === null) {
      await refuseUndeployed(deployment);
      throw new UsageError(
        "Nothing is deployed from this directory: its node runs on this machine.",
        "Run the command itself here, in a shell; `cairn logs` shows what the node has logged.",
      );
    }
    if (chosen.others.length > 0) {
      await this.note(`${chosen.name}; --node names another one (${chosen.others.join(", ")}).`);
    }
    const terminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
    const command = await chosen.open({ kind: "exec", argv: words, terminal }, signal);
    this.#running = true;
    try {
      return await runWithOwnStreams(command, signal);
    } finally {
      await command.close();
    }
  }

  protected override exitCodeOf(code: number): number {
    return code;
  }

  protected render(): string {
    return "";
  }
}

/** What docker, kubectl and ssh end with where they lose what they lead to; a command may end so, too. */
const MAY_BE_LOST: ReadonlySet<number> = new Set([1, 255]);

/** Its exit code; as a shell says it for one that a signal has ended. INFRA_HOST_UNREACHABLE where its host is lost. */
async function runWithOwnStreams(command: PartCommand, signal: AbortSignal): Promise<number> {
  signal.throwIfAborted();
  const { program, args } = command;
  const result = await execa(program, [...args], { reject: false, stdio: "inherit", cancelSignal: signal });
  signal.throwIfAborted();
  if (result.code === "ENOENT") {
    throw toolMissing(program);
  }
  const code = result.exitCode ?? 1;
  if (MAY_BE_LOST.has(code)) await refuseLost(command, signal);
  return code;
}
