/**
 * The builds of a source tree. Each update builds in a work tree of its own below `.cache/builds`, complete with packages and
 * migrations; `dist` becomes a link into it, so that one rename changes what the next start runs. A `dist` that was built in the
 * tree itself is kept beside it as `dist.former`, where it still finds its packages.
 */

import { existsSync } from "node:fs";
import { lstat, mkdir, readdir, readFile, readlink, realpath, rename, rm, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { execa } from "execa";
import { InfraError } from "../../runtime/contracts/errors.ts";
import { withUpdateLock } from "../rollout/lock.ts";
import type { Git } from "./git.ts";

/** The program itself, and the process of a node. */
const ENTRIES = [join("control", "main.js"), join("runtime", "main.js")];
const GRACE_MS = 5_000;
const QUIET = ["--no-audit", "--no-fund", "--loglevel=error"];
/** `production` is for a program that was built elsewhere: such an archive has no lockfile. */
const NPM = {
  packages: ["ci", "--include=dev", "--ignore-scripts", ...QUIET],
  build: ["run", "build"],
  production: ["install", "--omit=dev", "--ignore-scripts", "--no-package-lock", ...QUIET],
} as const;

export class Builds {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  /** Of the tree; Git takes nothing of it. */
  get cache(): string {
    return join(this.root, ".cache");
  }

  /** One change of the tree at a time, whichever deployment asks for it. Its node may run as another user, who reads the builds. */
  withLock<T>(work: () => Promise<T>): Promise<T> {
    return withUpdateLock(this.cache, work, 0o755);
  }

  /** Where each build has a folder of its own. */
  get folder(): string {
    return join(this.cache, "builds");
  }

  /** `commit` may be the checksum of an archive. */
  folderFor(version: string, commit: string): string {
    return join(this.folder, `${version}-${commit.slice(0, 12)}`);
  }

  /** Directory of the program's package.json that `dist` leads to; null: there is none now. */
  async serving(): Promise<string | null> {
    const dist = await realpath(this.#dist).catch(() => null);
    return dist === null ? null : dirname(dist);
  }

  /** What npm does in the folder of a build. INFRA_BUILD_FAILED with the last words. */
  async prepare(stage: string, step: keyof typeof NPM, signal: AbortSignal): Promise<void> {
    const args = NPM[step];
    const result = await execa("npm", args, {
      cwd: stage,
      reject: false,
      all: true,
      stdin: "ignore",
      cancelSignal: signal,
      forceKillAfterDelay: GRACE_MS,
      env: { PATH: `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}` },
    });
    signal.throwIfAborted();
    if (!result.failed) return;
    const words = result.code === "ENOENT" ? "there is no npm on this machine" : tail(result.all);
    throw new InfraError("INFRA_BUILD_FAILED", `\`npm ${args.slice(0, 2).join(" ")}\` failed:\n${words}`, {
      hint: "Nothing was stopped or changed: the former build goes on.",
    });
  }

  /** A whole build of the commit, from nothing. Errors of Git and of `prepare`. */
  async make(
    git: Git,
    wanted: { readonly stage: string; readonly commit: string; readonly version: string },
    signal: AbortSignal,
    report: (text: string) => void,
  ): Promise<void> {
    const { stage, commit, version } = wanted;
    await git.addWorktree(stage, commit);
    report("Installing packages");
    await this.prepare(stage, "packages", signal);
    report(`Building ${version}`);
    await this.prepare(stage, "build", signal);
    await this.requireComplete(stage, version);
  }

  /** INFRA_BUILD_FAILED unless the folder holds a whole program of the version. */
  async requireComplete(stage: string, version: string): Promise<void> {
    const missing = ENTRIES.filter((entry) => !existsSync(join(stage, "dist", entry)));
    const built = await versionIn(stage);
    if (missing.length === 0 && built === version) return;
    const why = missing.length > 0 ? `dist/${missing[0]} is missing` : `package.json says ${built}`;
    throw new InfraError("INFRA_BUILD_FAILED", `The build of ${version} is not complete: ${why}.`, {
      hint: "Nothing was stopped or changed: the former build goes on.",
    });
  }

  /** Lets `dist` lead to the build. Whatever it was before is kept. */
  async switchTo(stage: string): Promise<void> {
    const found = await lstat(this.#dist).catch(() => null);
    if (found?.isDirectory()) {
      await rm(this.#former, { recursive: true, force: true });
      await rename(this.#dist, this.#former);
    }
    await this.#link(join(stage, "dist"));
  }

  /** Lets `dist` lead to what served before: the folder that was moved aside, or the build that it was a link to. */
  async switchBack(former: string): Promise<void> {
    if (former !== this.root) return this.#link(join(former, "dist"));
    if (!existsSync(this.#former)) return;
    const found = await lstat(this.#dist).catch(() => null);
    if (found?.isSymbolicLink()) await rm(this.#dist);
    await rename(this.#former, this.#dist);
  }

  /** A `dist` that was moved aside and not replaced yet is put back. */
  async heal(): Promise<void> {
    const found = await lstat(this.#dist).catch(() => null);
    if (found === null && existsSync(this.#former)) await rename(this.#former, this.#dist);
  }

  /** A `dist` that was moved aside belongs to the tree as it was: once that has moved, it is of no use. */
  async forgetFormer(): Promise<void> {
    await rm(this.#former, { recursive: true, force: true });
  }

  /** Folders of builds other than these. */
  async others(kept: readonly string[]): Promise<readonly string[]> {
    const names = await readdir(this.folder).catch(() => []);
    return names.map((name) => join(this.folder, name)).filter((path) => !kept.includes(path));
  }

  /** What is kept of the former build, as a directory of package.json. */
  async formerOf(serving: string): Promise<string> {
    const link = await readlink(this.#dist).catch(() => null);
    return link === null ? this.root : serving;
  }

  async #link(target: string): Promise<void> {
    const fresh = join(this.cache, "dist.link");
    await mkdir(dirname(fresh), { recursive: true });
    await rm(fresh, { force: true });
    // Relative to its final place: the tree may be moved.
    await symlink(relative(this.root, target), fresh);
    await rename(fresh, this.#dist);
  }

  get #dist(): string {
    return join(this.root, "dist");
  }

  get #former(): string {
    return join(this.root, "dist.former");
  }
}

export async function versionIn(folder: string): Promise<string> {
  const { version }: { version: unknown } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  return String(version);
}

function tail(text: string | undefined): string {
  return (text ?? "").trim().split("\n").slice(-20).join("\n");
}
