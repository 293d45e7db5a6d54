/** Types a script of docs/examples anew: every command ends as it says, and no fact is lost on the way. */

import { symlink, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect } from "vitest";
import { CAIRN } from "./commands.ts";
import { temporaryDirectory } from "./deployment.ts";

/** The stack's name in all of them. */
export const WEEK = "week";

/** An operator's week. `environment`: what the script's head names. `programs`: folders that come first on PATH. */
export async function typeWeek(
  script: "docker.sh" | "kubernetes.sh" | "proxmox.sh",
  environment: Readonly<Record<string, string>>,
  programs: readonly string[] = [],
): Promise<void> {
  const all = await typeExample(`week/${script}`, "/srv/week", environment, programs);
  expect(all).toContain("# Sunday");
}

/** What a script below docs/examples has printed. `shown`: its directory in the recording. */
export async function typeExample(
  script: string,
  shown: string,
  environment: Readonly<Record<string, string>>,
  programs: readonly string[] = [],
): Promise<string> {
  const path = fileURLToPath(new URL(`../../docs/examples/${script}`, import.meta.url));
  const [directory, bin, home] = [await temporaryDirectory(), await temporaryDirectory(), await temporaryDirectory()];
  await symlink(CAIRN, join(bin, "cairn"));
  const { exitCode, all } = await execa("bash", [path, directory], {
    all: true,
    reject: false,
    stdin: "ignore",
    env: {
      PATH: [bin, ...programs, process.env["PATH"]].join(delimiter),
      SERVICE_HOME: join(home, "cairn"),
      ...environment,
    },
  });
  expect(exitCode, all).toBe(0);
  expect(all).not.toContain("lost: ");
  if (process.env["CAIRN_RECORD"] !== undefined) {
    await writeFile(path.replace(/\.sh$/, ".txt"), transcriptOf(all ?? "", { [directory]: shown, [home]: "/root" }));
  }
  return all ?? "";
}

/** What a reader of another machine sees: no temporary directories, and ids as far as one reads them. */
function transcriptOf(printed: string, directories: Readonly<Record<string, string>>): string {
  const named = Object.entries(directories).reduce((text, [path, name]) => text.replaceAll(path, name), printed.trim());
  return `${named.replace(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, "$1").replaceAll(/[ \t]+$/gm, "")}\n`;
}
