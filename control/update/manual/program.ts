/** What the nodes of a fleet that was set up by hand get: one archive of a built program, whose checksum names it everywhere. */

import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { isOlder } from "../../../runtime/contracts/versions.ts";
import { bringArchive, placeOf, unpack } from "../archive.ts";
import { Builds, versionIn } from "../builds.ts";
import { Git } from "../git.ts";
import { programIn } from "../prebuilt.ts";

export interface FleetProgram {
  /** Archive on this machine. */
  readonly file: string;
  /** In hexadecimal. */
  readonly sha256: string;
  readonly version: string;
  /** Name of the build on each machine: version and checksum. */
  readonly image: string;
  /** Range of Node's versions; null: any. */
  readonly engines: string | null;
}

export interface ProgramRequest {
  /** Source tree, or directory of the installed program. */
  readonly root: string;
  readonly version: string | undefined;
  /** Archive, as a path or an address; undefined: a release that is built here, or this program. */
  readonly prebuilt: string | undefined;
  /** SHA-256 of that archive; undefined: it is next to it. */
  readonly checksum: string | undefined;
  readonly signal: AbortSignal;
  readonly report: (text: string) => void;
}

/** Errors of archives, of Git and of builds; the source tree stays where it is. */
export async function withProgram<T>(request: ProgramRequest, work: (program: FleetProgram) => Promise<T>): Promise<T> {
  const { root, prebuilt, signal, report } = request;
  const folder = await mkdtemp(join(tmpdir(), "cairn-fleet-"));
  try {
    const place = prebuilt === undefined ? null : await placeOf(prebuilt);
    if (place !== null) report("Bringing the archive");
    const { file, sha256 } =
      place === null
        ? await pack(request, folder)
        : await bringArchive(place, { checksum: request.checksum, to: join(folder, "archive.tgz"), signal });
    const unpacked = join(folder, "program");
    await unpack({ file, sha256 }, unpacked, signal);
    const { version, engines } = await programIn(unpacked, root, null);
    await new Builds(root).requireComplete(unpacked, version);
    await rm(unpacked, { recursive: true, force: true });
    return await work({ file, sha256, version, engines, image: `${version}-${sha256.slice(0, 12)}` });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Of the release where the program is a source tree, as `cairn update` chooses it; else of this program. */
async function pack({ root, version, signal, report }: ProgramRequest, folder: string) {
  const builds = new Builds(root);
  const serving = (await builds.serving()) ?? root;
  if (!existsSync(join(root, ".git"))) {
    if (version !== undefined) await new Git(root, signal).requireCheckout();
    return packed(serving, folder, signal);
  }
  return builds.withLock(async () => {
    const git = new Git(root, signal);
    await git.requireCheckout();
    report("Looking for releases");
    const release = await git.release(version);
    const from = await versionIn(serving);
    if (from === release.version || (version === undefined && isOlder(release.version, from))) {
      return packed(serving, folder, signal);
    }
    const { commit } = (await git.facts(release)).target;
    const stage = builds.folderFor(`fleet-${release.version}`, commit);
    try {
      await builds.make(git, { stage, commit, version: release.version }, signal, report);
      return await packed(stage, folder, signal);
    } finally {
      await new Git(root, new AbortController().signal).removeWorktree(stage);
    }
  });
}

/** By `npm pack`, which writes the same bytes for the same files. INFRA_BUILD_FAILED. */
async function packed(program: string, folder: string, signal: AbortSignal) {
  const args = ["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", folder];
  const result = await execa("npm", args, { cwd: program, reject: false, stdin: "ignore", cancelSignal: signal });
  signal.throwIfAborted();
  const name = (await readdir(folder)).find((one) => one.endsWith(".tgz"));
  if (result.failed || name === undefined) {
    const words = result.code === "ENOENT" ? "there is no npm on this machine" : (result.stderr ?? "").trim();
    throw new InfraError("INFRA_BUILD_FAILED", `\`npm pack\` failed: ${words || "it wrote no archive"}`, {
      hint: "Nothing was changed.",
    });
  }
  const file = join(folder, name);
  return {
    file,
    sha256: createHash("sha256")
      .update(await readFile(file))
      .digest("hex"),
  };
}
