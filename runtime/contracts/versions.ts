/** Comparing versions. Pure. */

import semver from "semver";

/**
 * Whether `version` comes before `than`, as semver orders them; missing parts count as 0 ("0.8" is "0.8.0"). False where either
 * is no version: nothing is refused, or taken back, for a version that cannot be read.
 */
export function isOlder(version: string, than: string): boolean {
  const [own, other] = [versionOf(version), versionOf(than)];
  return own !== null && other !== null && semver.lt(own, other);
}

function versionOf(text: string): semver.SemVer | null {
  return semver.parse(text) ?? semver.coerce(text);
}
