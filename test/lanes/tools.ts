/** Which outside tools are here, found by using each once: a binary that cannot do its work does not count. */

import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { clusterMissing } from "../support/kubernetes/binaries.ts";
import { findPostgres } from "./postgres-binaries.ts";
import { engineFolder } from "./pulumi/engine.ts";

export type Tool = "postgres" | "bwrap" | "pulumi" | "docker" | "sshd" | "kubernetes" | "chromium";

/** Longest time that a probe may take, in milliseconds. */
const PROBE_TIMEOUT_MS = 60_000;

const PROBES: Readonly<Record<Tool, () => string | undefined>> = {
  postgres: () => {
    if (process.env.CAIRN_TEST_PG_URL) return undefined;
    const found = findPostgres();
    return found.ok ? undefined : found.reason;
  },
  // A container may forbid user namespaces, and then the binary is there and useless.
  bwrap: () => works("bwrap", ["--ro-bind", "/", "/", "--unshare-pid", "true"]),
  pulumi: () => {
    const folder = engineFolder();
    return folder === undefined ? "pulumi is not installed" : works("pulumi", ["version"], [folder]);
  },
  docker: () => works("docker", ["info", "--format", "{{.ServerVersion}}"]),
  sshd: () => works("sshd", ["-V"], ["/usr/sbin", "/usr/local/sbin"]),
  // The lane starts a cluster of its own, which takes what it is made of.
  kubernetes: clusterMissing,
  chromium: () => {
    const found = [...["chromium", "chromium-browser", "google-chrome"].map((name) => onPath(name)), bundledChromium()];
    return found.some((path) => path !== undefined) ? undefined : "no Chromium";
  },
};

/** Why a tool cannot be used here, or undefined when it can. */
export function probe(tool: Tool): string | undefined {
  return PROBES[tool]();
}

/** For a part of a test file that needs a tool: `describe.skipIf(!has("bwrap"))`. */
export function has(tool: Tool): boolean {
  return probe(tool) === undefined;
}

function works(name: string, args: readonly string[], moreFolders: readonly string[] = []): string | undefined {
  const path = onPath(name, moreFolders);
  if (path === undefined) return `${name} is not installed`;
  const result = spawnSync(path, args, { stdio: ["ignore", "pipe", "pipe"], timeout: PROBE_TIMEOUT_MS });
  if (result.status === 0) return undefined;
  const words = result.stderr?.toString().trim().split("\n")[0] ?? "";
  return `${name} does not work here${words === "" ? "" : ` (${words})`}`;
}

function onPath(name: string, moreFolders: readonly string[] = []): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), ...moreFolders];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A Chromium that a browser-automation package downloaded. */
function bundledChromium(): string | undefined {
  const folder = process.env.PLAYWRIGHT_BROWSERS_PATH ?? join(process.env.HOME ?? "/", ".cache", "ms-playwright");
  if (!existsSync(folder)) return undefined;
  return readdirSync(folder).find((name) => name.startsWith("chromium"));
}
