/** `cairn init` on a pseudo-terminal, on a machine whose tools are told what to say. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { temporaryDirectory } from "../deployment.ts";
import { createFakeTools, type FakeTools } from "../fake-tools.ts";
import { KEYS, openTerminal, type TerminalSession } from "./terminal.ts";

const PROGRAM = fileURLToPath(new URL("../cairn.ts", import.meta.url));

export const HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
export const HOST_FINGERPRINT = "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU";

/** What is asked, and what is typed then. */
export type Script = readonly (readonly [question: string, keys: string])[];

export interface Machine {
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly tools: FakeTools;
  open(
    argv?: readonly string[],
    options?: { readonly columns?: number; readonly env?: NodeJS.ProcessEnv },
  ): TerminalSession;
}

export async function createMachine(): Promise<Machine> {
  const base = await temporaryDirectory();
  const dir = join(base, "deployment");
  const tools = await createFakeTools();
  onTestFinished(() => tools.remove());
  await tools.add("docker", "echo 28.1.0");
  await tools.add("pulumi", "echo v3.206.0");
  const contexts = { "current-context": "prod", contexts: [{ name: "prod" }, { name: "test" }] };
  await tools.add("kubectl", `echo '${JSON.stringify(contexts)}'`);
  await tools.add("ssh", "echo OpenSSH_9.9 >&2");
  await tools.add("ssh-keyscan", `echo '# pve.example.org:22 SSH-2.0'; echo 'pve.example.org ${HOST_KEY}'`);
  await tools.add("ssh-keygen", "exit 1");
  const env = {
    PATH: tools.directory,
    HOME: base,
    SERVICE_API_TOKEN: "cairn_test-token-of-the-owner",
  };
  return {
    dir,
    env,
    tools,
    open: (argv = ["init"], { columns, env: more = {} } = {}) =>
      openTerminal([PROGRAM, ...argv, "--dir", dir], {
        cwd: base,
        env: { ...env, ...more },
        ...(columns === undefined ? {} : { columns }),
      }),
  };
}

export const ENTER = KEYS.enter;
/** From the last choice to the n-th before it, or to the first. */
export const up = (times: number): string => KEYS.up.repeat(times) + ENTER;

/** From the first choice to the n-th after it, or to the last. */
export const down = (times: number): string => KEYS.down.repeat(times) + ENTER;

/** Waits for each question and types its answer. */
export async function follow(session: TerminalSession, script: Script): Promise<void> {
  for (const [question, keys] of script) {
    await session.until(question);
    session.type(keys);
  }
}

/** Every file of a deployment that git or a node would see, with its text. */
export async function writtenFiles(dir: string): Promise<Record<string, string>> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const kept = files.filter((file) => !file.includes("/node_modules/")).sort();
  return Object.fromEntries(
    await Promise.all(kept.map(async (file) => [file.slice(dir.length + 1), await readFile(file, "utf8")] as const)),
  );
}
