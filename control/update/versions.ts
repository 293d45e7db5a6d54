/** Which release an update goes to. Pure. */

import semver from "semver";
import { UsageError } from "../output/failure.ts";

export interface Release {
  /** Without a leading `v`. */
  readonly version: string;
  readonly tag: string;
}

export interface VersionChoice {
  /** Tags of the repository, releases or not. */
  readonly tags: readonly string[];
  /** From the command line: `1.2.3` or `v1.2.3`. */
  readonly asked: string | undefined;
  /** Of the source tree; a branch `lts/X.Y` stays within its line. Null: detached. */
  readonly branch: string | null;
}

/** Releases among the tags, the newest first. */
export function releasesOf(tags: readonly string[]): readonly Release[] {
  return tags
    .flatMap((tag) => {
      const version = /^v?\d/.test(tag) ? semver.valid(tag) : null;
      return version === null ? [] : [{ version, tag }];
    })
    .sort((one, other) => semver.rcompare(one.version, other.version) || (one.tag < other.tag ? -1 : 1));
}

/** Pre-releases are taken only by their name. A UsageError when there is no such release, naming the newest ones. */
export function chooseRelease({ tags, asked, branch }: VersionChoice): Release {
  const releases = releasesOf(tags);
  if (asked !== undefined) {
    const wanted = semver.valid(asked);
    const found = wanted === null ? undefined : releases.find(({ version }) => version === wanted);
    if (found) return found;
    const names = releases.slice(0, 5).map(({ version }) => version);
    throw new UsageError(`There is no release ${asked}.`, `Releases: ${names.join(", ") || "none"}.`);
  }
  const line = /^lts\/(\d+\.\d+)$/.exec(branch ?? "")?.[1];
  const [newest] = releases.filter(
    ({ version }) => semver.prerelease(version) === null && (line === undefined || version.startsWith(`${line}.`)),
  );
  if (newest) return newest;
  throw new UsageError(
    line === undefined ? "The repository has no release yet." : `There is no release of the line ${line} yet.`,
    line === undefined
      ? "`git pull && npm start` brings the newest commit; --version names a pre-release."
      : "Pass --version to name a pre-release.",
  );
}
