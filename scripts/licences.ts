/**
 * Checks the licence of every package that an installation of Cairn brings along. Reads a lockfile alone: the one that is
 * given, else the project's own.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import satisfies from "spdx-satisfies";
import { BUNDLED } from "./lib/bundled.js";
import { type Lockfile, packagesReachedBy } from "./lib/image-packages.ts";
import { ROOT } from "./lib/paths.js";

/** docs/decisions/002-licences-of-dependencies.md says why each is here. */
const ALLOWED = [
  "MIT",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MPL-2.0",
  "PostgreSQL",
  "0BSD",
  "BlueOak-1.0.0",
  "CC0-1.0",
  "Unlicense",
  "Python-2.0",
];

/** Packages whose licence a person has read, because the lockfile's words for it are no expression of the list. */
const REVIEWED: ReadonlySet<string> = new Set(["@logdna/tail-file", "spdx-exceptions"]);

type Packages = Lockfile["packages"];

const [lockfile = join(ROOT, "package-lock.json")] = process.argv.slice(2);
process.exitCode = report(JSON.parse(readFileSync(lockfile, "utf8")).packages);

function report(packages: Packages): number {
  // Packages that only the tests and the build need are not distributed, but for those that the build puts into `dist`.
  const bundled = packagesReachedBy(packages, Object.values(BUNDLED).flat());
  const shipped = Object.entries(packages).filter(
    ([path, entry]) => path !== "" && (entry.dev !== true || bundled.has(path)),
  );
  const refused = shipped.filter(
    ([path, entry]) => !REVIEWED.has(path.split("node_modules/").at(-1) ?? path) && !isAllowed(entry.license),
  );
  for (const [path, entry] of refused) {
    process.stderr.write(`${path}@${entry.version}: licence ${entry.license ?? "unknown"} is not on the list\n`);
  }
  process.stdout.write(`${shipped.length} packages, ${refused.length} with a licence that is not on the list\n`);
  return refused.length > 0 ? 1 : 0;
}

function isAllowed(licence: string | undefined): boolean {
  if (licence === undefined) return false;
  try {
    return satisfies(licence, ALLOWED);
  } catch {
    // "SEE LICENSE IN ..." and the like are no expressions: a person has to look.
    return false;
  }
}
