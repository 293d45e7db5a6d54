/** Whether agents' commands can run on this machine: without a sandbox they are refused, while the tool is offered all the same. */

import process from "node:process";
import type { Config } from "../../runtime/config/index.ts";
import { agentsWithShell } from "../doctor/checks/secrets/reach.ts";
import { sandboxProblem } from "../doctor/context/sandbox.ts";
import { type Deployment, inspectWithoutSecrets } from "./deployment.ts";
import { inspectNode } from "./stale-node-file.ts";

export interface MissingSandbox {
  /** As a clause. */
  readonly problem: string;
  readonly fix: string;
}

/** Null where no agent runs commands, where they need no sandbox by the owner's choice, and where there is one. */
export async function missingSandbox(
  config: Config,
  signal: AbortSignal,
  ask: (signal: AbortSignal) => Promise<string | null> = sandboxProblem,
): Promise<MissingSandbox | null> {
  if (config.tools.shell.sandbox === "none" || agentsWithShell(config).length === 0) return null;
  const problem = await ask(signal);
  return problem === null ? null : { problem, fix: sandboxFix(process.platform) };
}

/** The same of the node that runs from this home; undefined where none does, or where its configuration cannot be read. */
export async function localSandbox(
  deployment: Deployment,
): Promise<((signal: AbortSignal) => Promise<MissingSandbox | null>) | undefined> {
  const { state } = await inspectNode(deployment.home);
  const loaded = state === "running" ? (await inspectWithoutSecrets(deployment).catch(() => null))?.loaded : null;
  return loaded ? (signal) => missingSandbox(loaded.config, signal) : undefined;
}

export function sandboxFix(platform: string): string {
  return platform === "linux"
    ? "Install the package bubblewrap (`sudo apt install bubblewrap`, `sudo dnf install bubblewrap`), and allow unprivileged user namespaces."
    : "bubblewrap is for Linux. Run the node in a container, or set `tools.shell.enabled: false`.";
}
