/** Where a restored deployment goes, and what is in the way there. Looks, and changes nothing. */

import { access, constants, readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { within } from "../../../infra/plan/workspaces.ts";
import type { Config } from "../../../runtime/config/index.ts";
import { codeOf } from "../../../runtime/contracts/system-errors.ts";
import { exists } from "../../../runtime/files/durable.ts";
import type { Obstacle } from "../../memory/obstacles.ts";
import type { Deployment } from "../../service/deployment.ts";
import { referredTo } from "../contents.ts";
import type { Manifest } from "../manifest.ts";

export interface RestorePaths {
  /** Deployment directory, absolute. */
  readonly directory: string;
  readonly home: string;
  /** Of the home below the directory (empty: it is the directory itself); null where it lies elsewhere. */
  readonly homeBelow: string | null;
}

export function placesOf({ dir, home }: Pick<Deployment, "dir" | "home">): RestorePaths {
  return { directory: dir, home, homeBelow: within(dir, home) };
}

/** Paths that are filled, each of which gets its name by one rename. */
export function targetsOf({ directory, home, homeBelow }: RestorePaths): readonly string[] {
  return homeBelow === null ? [home, directory] : [directory];
}

/** Beside the target, on the same file system, and found again by the next restore. */
export function stagingOf(target: string): string {
  return join(dirname(target), `.${basename(target)}.cairn-restore`);
}

/**
 * Paths of a restored configuration that still lead to where the deployment was: they were written as absolute ones, and what was
 * restored is elsewhere now. Not the store's: the memory is restored where that leads.
 */
export function formerPaths(
  config: Config,
  { deployment: { directory, home } }: Manifest,
  places: Pick<RestorePaths, "directory" | "home">,
): string[] {
  const isBelow = (roots: readonly string[], path: string): boolean =>
    roots.some((root) => within(root, path) !== null);
  return [...new Set(referredTo(config, places.directory))].filter(
    (path) => isBelow([directory, home], path) && !isBelow([places.directory, places.home], path),
  );
}

const MOST_NAMES = 3;

/** `targets`: those that have no name yet. */
export async function ofPlaces(places: RestorePaths, targets = targetsOf(places)): Promise<Obstacle[]> {
  const found: (Obstacle | null)[] = [];
  for (const target of targets) found.push((await ofTarget(target)) ?? (await ofParent(target)));
  return found.filter((one) => one !== null);
}

/** The directory above a path, or the nearest one above that which is there. */
export async function parentOf(path: string): Promise<string> {
  const parent = dirname(path);
  return (await exists(parent)) ? parent : parentOf(parent);
}

/** What is filled stands beside the target. */
async function ofParent(target: string): Promise<Obstacle | null> {
  const parent = await parentOf(target);
  return access(parent, constants.W_OK | constants.X_OK).then(
    () => null,
    (error: unknown) => ({
      message: `${parent} cannot be written to (${codeOf(error) ?? "unknown error"}).`,
      hint: "Name another directory with --dir, or correct its permissions.",
    }),
  );
}

async function ofTarget(target: string): Promise<Obstacle | null> {
  const other = "Name another directory with --dir, or move this one away.";
  let names: string[];
  try {
    names = await readdir(target);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    if (codeOf(error) === "ENOTDIR") return { message: `${target} is no directory.`, hint: other };
    throw error;
  }
  if (names.length > 0) {
    const first = names.slice(0, MOST_NAMES).join(", ");
    const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : "";
    return { message: `${target} is not empty: it has ${first}${more}.`, hint: other };
  }
  // An empty directory is replaced by the filled one.
  if ((await stat(target)).dev !== (await stat(dirname(target))).dev) {
    return { message: `${target} is a file system of its own.`, hint: "Name a directory inside it with --dir." };
  }
  const here = await realpath(process.cwd()).catch(() => "");
  if (within(await realpath(target), here) !== null && here !== "") {
    return {
      message: `This command runs in ${target}, which is replaced.`,
      hint: "Change to another directory first.",
    };
  }
  return null;
}
