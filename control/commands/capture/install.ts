import { readFile } from "node:fs/promises";
import process from "node:process";
import { text } from "node:stream/consumers";
import { Flags } from "@oclif/core";
import { BaseCommand } from "../../base-command.ts";
import { ensureAccess } from "../../capture/access.ts";
import { harnessArgument } from "../../capture/harness-argument.ts";
import { type InstallResult, installHarness } from "../../capture/install.ts";
import { capturePlaces } from "../../capture/places.ts";
import { renderInstall } from "../../capture/render.ts";
import { UsageError } from "../../output/failure.ts";
import type { Interruption } from "../../output/interruption.ts";
import type { Mark } from "../../output/terminal.ts";
import { findDeployment } from "../../service/deployment.ts";

export interface CaptureInstallResult extends InstallResult {
  /** Where the sessions go. */
  readonly node: string;
}

export default class CaptureInstall extends BaseCommand<CaptureInstallResult> {
  static override description =
    "Capture a coding assistant's sessions into the memory automatically\n\n" +
    "Adds a hook to its settings, and keeps everything else in them (a copy of the former file stays beside it). The hook gets a " +
    "token of its own that may do nothing but capture. It never delays the assistant: what cannot be delivered waits on the disk.";

  static override examples = [
    "<%= config.bin %> capture install claude-code",
    "<%= config.bin %> capture install codex --url https://cairn.example:7433 --token-file token.txt",
  ];

  static override args = { harness: harnessArgument({ required: true }) };

  static override flags = {
    url: Flags.string({
      helpValue: "URL",
      description: "Address of a node on another machine (default: the node of this deployment)",
      dependsOn: ["token-file"],
    }),
    "token-file": Flags.string({
      helpValue: "FILE",
      description: "File with a token of the scope capture for that node; - reads standard input",
      dependsOn: ["url"],
    }),
  };

  protected async work({ signal }: Interruption): Promise<CaptureInstallResult> {
    const { args, flags } = await this.parse(CaptureInstall);
    const deployment = findDeployment(flags);
    const { url, "token-file": file } = flags;
    const given =
      url !== undefined && file !== undefined ? { url: addressOf(url), token: await readToken(file) } : null;
    const node = await ensureAccess(deployment, given, signal);
    const places = capturePlaces(deployment.home, this.config.root);
    return { ...(await installHarness(args.harness, places)), node };
  }

  protected render(result: CaptureInstallResult, mark: Mark): string {
    return renderInstall(result, mark);
  }
}

function addressOf(url: string): string {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== "http:" && parsed?.protocol !== "https:") {
    throw new UsageError(`${url} is no address.`, "Pass --url http://host:port or https://host.");
  }
  return url.replace(/\/+$/, "");
}

async function readToken(file: string): Promise<string> {
  const token = (file === "-" ? await text(process.stdin) : await readFile(file, "utf8")).trim();
  if (!/^\S+$/.test(token)) throw new UsageError("There is no token in the file.", "Write the token alone into it.");
  return token;
}
