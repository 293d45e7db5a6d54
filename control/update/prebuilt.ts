/** The candidate of `update --prebuilt`: an archive of a whole program, verified and checked before anything is changed. */

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import semver from "semver";
import { z } from "zod";
import { InfraError, RuntimeError } from "../../runtime/contracts/errors.ts";
import { codeOf } from "../../runtime/contracts/system-errors.ts";
import { type Archive, bringArchive, placeOf, unpack } from "./archive.ts";
import type { Builds } from "./builds.ts";
import type { Candidate } from "./candidate.ts";

export interface PrebuiltRequest {
  /** Path or address. */
  readonly archive: string;
  /** SHA-256 in hexadecimal; undefined: it is next to the archive. */
  readonly checksum: string | undefined;
}

const manifest = z.looseObject({
  name: z.string(),
  version: z.string(),
  engines: z.looseObject({ node: z.string().optional() }).optional(),
});

/** Hands the candidate to the work, and removes what was unpacked. Errors of `archive.ts`; RUNTIME_FORBIDDEN. */
export async function withPrebuilt<T>(
  { archive, checksum }: PrebuiltRequest,
  at: { readonly builds: Builds; readonly signal: AbortSignal; readonly report: (text: string) => void },
  work: (candidate: Candidate) => Promise<T>,
): Promise<T> {
  const { builds, signal, report } = at;
  const place = await placeOf(archive);
  const folder = await temporaryFolder(builds.folder);
  try {
    report("Bringing the archive");
    const brought = await bringArchive(place, { checksum, to: join(folder, "archive.tgz"), signal });
    const unpacked = join(folder, "program");
    await unpack(brought, unpacked, signal);
    const version = await versionOf(unpacked, builds.root);
    return await work(candidateOf(brought, { unpacked, version, builds, signal, report }));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function candidateOf(
  { sha256 }: Archive,
  at: {
    readonly unpacked: string;
    readonly version: string;
    readonly builds: Builds;
    readonly signal: AbortSignal;
    readonly report: (text: string) => void;
  },
): Candidate {
  const { unpacked, version, builds, signal, report } = at;
  const stage = builds.folderFor(version, sha256);
  return {
    source: "prebuilt",
    to: { version, commit: sha256, tag: version },
    stage,
    move: "none",
    async stageIt() {
      await rm(stage, { recursive: true, force: true });
      await rename(unpacked, stage);
    },
    async packages() {
      if (existsSync(join(stage, "node_modules"))) return;
      report("Installing packages");
      await builds.prepare(stage, "production", signal);
    },
    build: () => builds.requireComplete(stage, version),
  };
}

/** INFRA_BUILD_FAILED for what is no program of ours, or none for this Node. */
async function versionOf(unpacked: string, root: string): Promise<string> {
  return (await programIn(unpacked, root, process.versions.node)).version;
}

export interface ProgramManifest {
  readonly version: string;
  /** Range of Node's versions; null: any. */
  readonly engines: string | null;
}

/** `here`: version of Node, which has to be able to run it; null: it runs elsewhere. Errors of `versionOf`. */
export async function programIn(unpacked: string, root: string, here: string | null): Promise<ProgramManifest> {
  const [own, found] = await Promise.all([readManifest(root), readManifest(unpacked)]);
  const refuse = (why: string): InfraError =>
    new InfraError("INFRA_BUILD_FAILED", `The archive cannot be used: ${why}.`, {
      hint: "Nothing was changed. Pass an archive of this program, as `npm pack` writes it from a tree that was built.",
    });
  if (found === null || own === null) throw refuse("it has no package.json that can be read");
  if (found.name !== own.name) throw refuse(`it is of ${found.name}, and not of ${own.name}`);
  if (semver.valid(found.version) === null) throw refuse(`${found.version} is no version`);
  const node = found.engines?.node;
  if (node !== undefined && here !== null && !semver.satisfies(here, node)) {
    throw refuse(`version ${found.version} needs Node ${node}, and this is ${here}`);
  }
  return { version: found.version, engines: node ?? null };
}

async function readManifest(folder: string): Promise<z.infer<typeof manifest> | null> {
  try {
    return manifest.parse(JSON.parse(await readFile(join(folder, "package.json"), "utf8")));
  } catch {
    return null;
  }
}

/** Beside the builds, so that one rename moves it there. One that a killed update left is removed by the next update's clean-up. */
async function temporaryFolder(builds: string): Promise<string> {
  try {
    await mkdir(builds, { recursive: true });
    return await mkdtemp(join(builds, "brought-"));
  } catch (cause) {
    const code = codeOf(cause) ?? "unknown error";
    throw new RuntimeError("RUNTIME_FORBIDDEN", `${builds} cannot be written (${code}).`, {
      cause,
      hint: "Update as the user who owns the program, or the way it was installed.",
    });
  }
}
