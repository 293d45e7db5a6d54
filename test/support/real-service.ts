/** The command line with the real service behind it, as a user has it. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import { isAlive } from "../../control/service/processes.ts";
import type { Cli } from "./cli.ts";

/** The real service; no stand-in. No key, and no model server (see no-model-servers.js), so that it is the offline provider which answers. */
export const REAL = { CAIRN_STAND_IN: "", SERVICE_API_TOKEN: "", SERVICE_LISTEN: "127.0.0.1:0" };

export interface Started {
  readonly pid: number;
  readonly init: { readonly files: readonly unknown[] } | null;
}

/** Starts a node in the background, or with `restart` one that runs anew; it ends with the test. */
export async function start(cli: Cli, command: readonly string[] = ["start", "--detach"]): Promise<Started> {
  const started = await run(cli, command);
  const pid = Number(started["pid"]);
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });
  return { pid, init: started["init"] as Started["init"] };
}

/** Resolves once a node has left its word in the home directory. */
export async function untilAnnounced(home: string): Promise<{ readonly pid: number; readonly maintenance: boolean }> {
  for (;;) {
    const text = await readFile(join(home, "run", "node.json"), "utf8").catch(() => null);
    if (text !== null) return JSON.parse(text);
    await sleep(50);
  }
}

export async function untilGone(pid: number): Promise<void> {
  while (isAlive(pid)) await sleep(50);
}

export async function say(cli: Cli, text: string): Promise<string> {
  return String((await run(cli, ["chat", text]))["text"]);
}

/** The one JSON document of a command, which has to end with this code. */
export async function run(cli: Cli, argv: readonly string[], code = 0): Promise<Record<string, unknown>> {
  const outcome = await cli.run([...argv, "--json"], { env: REAL });
  expect(outcome, outcome.stdout + outcome.stderr).toMatchObject({ code });
  return JSON.parse(outcome.stdout);
}
