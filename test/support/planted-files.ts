/** What an agent with a shell can put in the place of a file that the service reads: links, second names, pipes, devices. */

import { execFileSync } from "node:child_process";
import { link, mkdir, mkdtemp, open, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

export const PLANTED_SECRET = "planted-secret-0123456789";

/** A deployment directory with a workspace in it, and something beside it that must not be read. Gone after the test. */
export interface PlantedPlace {
  readonly base: string;
  readonly workspace: string;
  /** Holds `secret.md` and `memory/`, `wiki/` and `skills/` with files of the names that the service looks for. */
  readonly outside: string;
}

export async function plantedPlace(): Promise<PlantedPlace> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "cairn-planted-")));
  onTestFinished(() => rm(base, { recursive: true, force: true }));
  const [workspace, outside] = [join(base, "workspace"), join(base, "outside")];
  await mkdir(workspace);
  await mkdir(outside);
  await writeFile(join(outside, "secret.md"), PLANTED_SECRET);
  await writeFile(join(base, ".env"), `SERVICE_API_TOKEN='${PLANTED_SECRET}'\n`);
  return { base, workspace, outside };
}

type Plant = (path: string, place: PlantedPlace) => Promise<void>;

/** By what it is; `path` is free, and its folder is there. */
export const PLANTS: Readonly<Record<string, Plant>> = {
  "a link to a file outside": (path, { outside }) => symlink(join(outside, "secret.md"), path),
  "a relative link to .env": (path, { workspace }) => symlink(`${"../".repeat(depthOf(workspace, path))}.env`, path),
  "a link to the process": (path) => symlink("/proc/self/environ", path),
  "a link to a link": async (path, { outside }) => {
    await symlink(join(outside, "secret.md"), `${path}.step`);
    await symlink(`${path}.step`, path);
  },
  "a link to nothing": (path, { base }) => symlink(join(base, "nothing"), path),
  "a link to itself": (path) => symlink(path, path),
  "a second name of a file outside": (path, { outside }) => link(join(outside, "secret.md"), path),
  "a second name of .env": (path, { base }) => link(join(base, ".env"), path),
  "a pipe": async (path) => void execFileSync("mkfifo", [path]),
  "a socket": async (path) => {
    const server = createServer();
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
    onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  },
  "a link to a device": (path) => symlink("/dev/zero", path),
  "a directory": async (path) => {
    await mkdir(path);
    await writeFile(join(path, "secret.md"), PLANTED_SECRET);
  },
  "a sparse file of 10 GB": async (path) => {
    const file = await open(path, "w");
    await file.truncate(10_000_000_000);
    await file.close();
  },
};

/** In place of the folder that the file is in: a link to one outside, in which a file has the same name. */
export async function plantFolder(folder: string, name: string, { outside }: PlantedPlace): Promise<void> {
  const target = join(outside, "folder");
  await mkdir(target, { recursive: true });
  await writeFile(join(target, name), PLANTED_SECRET);
  await mkdir(dirname(folder), { recursive: true });
  await symlink(target, folder);
}

function depthOf(workspace: string, path: string): number {
  return path.slice(workspace.length + 1).split("/").length;
}
