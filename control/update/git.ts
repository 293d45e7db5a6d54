/** Git, as far as an update needs it. Its output is parsed only here. */

import { existsSync } from "node:fs";
import { realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { InfraError, RuntimeError } from "../../runtime/contracts/errors.ts";
import type { TreeFacts, TreeMove } from "./tree-plan.ts";
import { chooseRelease, type Release, releasesOf } from "./versions.ts";

/** Milliseconds until Git is ended when the update is interrupted. */
const GRACE_MS = 5_000;

export class Git {
  readonly #root: string;
  readonly #signal: AbortSignal;

  constructor(root: string, signal: AbortSignal) {
    this.#root = root;
    this.#signal = signal;
  }

  /** RUNTIME_INVALID_REQUEST where the program is no checkout of its own. */
  async requireCheckout(): Promise<void> {
    const top = existsSync(join(this.#root, ".git")) ? await this.#try("rev-parse", "--show-toplevel") : null;
    if (top !== null && (await realpath(top)) === (await realpath(this.#root))) return;
    throw new RuntimeError("RUNTIME_INVALID_REQUEST", `The program in ${this.#root} is no Git checkout.`, {
      hint: "Update it the way it was installed, for example with `npm install -g`, or pass --prebuilt with an archive (a deployed node: an image).",
    });
  }

  async #fetch(): Promise<void> {
    if ((await this.#ask("remote")) === "") {
      throw new RuntimeError("RUNTIME_INVALID_REQUEST", "The source tree has no remote to get releases from.", {
        hint: "Add it with `git remote add origin ADDRESS`.",
      });
    }
    await this.#ask("fetch", "--quiet", "--tags", "--prune");
  }

  /** The release that an update goes to, by what the remote has now. `asked`: from the command line. Errors of `chooseRelease`. */
  async release(asked: string | undefined): Promise<Release> {
    await this.#fetch();
    return chooseRelease({ tags: lines(await this.#ask("tag", "--list")), asked, branch: await this.branch() });
  }

  /** Null: detached. */
  branch(): Promise<string | null> {
    return this.#try("symbolic-ref", "--quiet", "--short", "HEAD");
  }

  head(): Promise<string> {
    return this.commit("HEAD");
  }

  commit(name: string): Promise<string> {
    return this.#ask("rev-parse", "--verify", "--quiet", `${name}^{commit}`);
  }

  async facts(target: Release): Promise<TreeFacts> {
    const commit = await this.commit(`refs/tags/${target.tag}`);
    const head = await this.head();
    const [headTags, changed, unknown, files] = await Promise.all([
      this.#ask("tag", "--points-at", "HEAD"),
      this.#ask("diff", "--name-only", "HEAD"),
      this.#ask("ls-files", "--others", "--exclude-standard"),
      this.#ask("ls-tree", "-r", "--name-only", commit),
    ]);
    const theirs = new Set(lines(files));
    return {
      head,
      branch: await this.branch(),
      headTags: releasesOf(lines(headTags)).map(({ tag }) => tag),
      changed: lines(changed),
      inTheWay: lines(unknown).filter((file) => theirs.has(file)),
      target: { ...target, commit },
      headIsBeforeTarget: (await this.#try("merge-base", "--is-ancestor", head, commit)) !== null,
      targetIsBeforeHead: (await this.#try("merge-base", "--is-ancestor", commit, head)) !== null,
      headIsPublished: (await this.#ask("branch", "--remotes", "--contains", head)) !== "",
    };
  }

  /** A second work tree with the commit; the one of an interrupted update is removed. */
  async addWorktree(folder: string, commit: string): Promise<void> {
    await this.removeWorktree(folder);
    await this.#ask("worktree", "add", "--quiet", "--force", "--detach", folder, commit);
  }

  async removeWorktree(folder: string): Promise<void> {
    const isRepository = existsSync(join(this.#root, ".git"));
    if (isRepository) await this.#try("worktree", "remove", "--force", "--force", folder);
    // What an orphaned npm of a killed update wrote there is not Git's to remove.
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    if (isRepository) await this.#try("worktree", "prune");
  }

  /** Does nothing where the tree is at the commit already. */
  async move(kind: TreeMove["kind"], to: { readonly commit: string; readonly tag: string }): Promise<void> {
    if (kind === "none" || (await this.head()) === to.commit) return;
    if (kind === "fast-forward") await this.#ask("merge", "--quiet", "--ff-only", to.commit);
    else await this.#ask("checkout", "--quiet", "--detach", `refs/tags/${to.tag}`);
  }

  async #ask(...args: string[]): Promise<string> {
    const result = await this.#run(args);
    if (!result.failed) return result.stdout.trim();
    const words = result.stderr.trim().split("\n").slice(-5).join("\n");
    throw new RuntimeError("RUNTIME_CONFLICT", `\`git ${args[0]}\` failed in ${this.#root}: ${words}`, {
      hint: "Look at the source tree with `git status`.",
    });
  }

  /** Null where Git refuses. */
  async #try(...args: string[]): Promise<string | null> {
    const result = await this.#run(args);
    return result.failed ? null : result.stdout.trim();
  }

  async #run(args: readonly string[]) {
    const result = await execa("git", ["-C", this.#root, "-c", "core.quotePath=false", ...args], {
      reject: false,
      stdin: "ignore",
      // It must not prompt for a password: the prompt would not be seen.
      env: { GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" },
      cancelSignal: this.#signal,
      forceKillAfterDelay: GRACE_MS,
    });
    this.#signal.throwIfAborted();
    if (result.code === "ENOENT") {
      throw new InfraError("INFRA_TOOL_MISSING", "There is no git on this machine.", {
        hint: "Install it: an update gets its releases with it.",
      });
    }
    return result;
  }
}

function lines(text: string): string[] {
  return text.split("\n").filter((line) => line !== "");
}
