/**
 * What the image is made from: the compiled program beside package.json. In a source tree it is brought up to date first;
 * an installed package brings it along.
 */

import { existsSync } from "node:fs";
import { readFile, realpath } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { CANCEL_GRACE_MS } from "../images/docker-cli.ts";

export interface Source {
  /** Directory of package.json. */
  readonly root: string;
  readonly version: string;
  /** Commit, with `-dirty` when files differ from it; null where the tree is no checkout. */
  readonly revision: string | null;
  /** Address of the project; null where package.json does not say. */
  readonly url: string | null;
}

/** INFRA_BUILD_FAILED when the program cannot be compiled or is not there. `say` gets the compiler's words. */
export async function prepareSource(root: string, signal: AbortSignal, say: (line: string) => void): Promise<Source> {
  if (existsSync(join(root, "scripts", "run.js"))) await compile(root, signal, say);
  if (!existsSync(join(root, "dist", "image", "package-lock.json"))) {
    throw new InfraError("INFRA_BUILD_FAILED", `There is no compiled program in ${root}.`, {
      hint: "Install the package again, or run `npm run build` in the source tree.",
    });
  }
  const { version, repository } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const url = typeof repository === "object" && repository !== null ? repository.url : repository;
  return {
    root,
    version: String(version),
    revision: await revisionOf(root, signal),
    url: typeof url === "string" ? url.replace(/^git\+/, "").replace(/\.git$/, "") : null,
  };
}

async function compile(root: string, signal: AbortSignal, say: (line: string) => void): Promise<void> {
  const child = execa(process.execPath, [join(root, "scripts", "run.js"), "build"], {
    cwd: root,
    reject: false,
    all: true,
    stdin: "ignore",
    cancelSignal: signal,
    forceKillAfterDelay: CANCEL_GRACE_MS,
  });
  const lines: string[] = [];
  for await (const line of child.iterable({ from: "all" })) {
    say(line);
    lines.push(line);
  }
  const result = await child;
  signal.throwIfAborted();
  if (!result.failed) return;
  throw new InfraError("INFRA_BUILD_FAILED", `The program cannot be compiled:\n${lines.slice(-30).join("\n")}`);
}

/** Git is run only in a tree that is a checkout itself: a package installed inside another's is not that. */
export async function revisionOf(root: string, signal?: AbortSignal): Promise<string | null> {
  const git = async (...args: string[]): Promise<string | null> => {
    const result = await execa("git", ["-C", root, ...args], {
      reject: false,
      stdin: "ignore",
      // Looking must not take the lock that the user's own commit needs.
      env: { GIT_OPTIONAL_LOCKS: "0" },
      ...(signal ? { cancelSignal: signal } : {}),
    });
    return result.failed ? null : result.stdout;
  };
  const top = await git("rev-parse", "--show-toplevel");
  if (top === null || (await realpath(top).catch(() => null)) !== (await realpath(root))) return null;
  const commit = await git("rev-parse", "HEAD");
  const changes = await git("status", "--porcelain");
  return commit && (changes === "" ? commit : `${commit}-dirty`);
}
