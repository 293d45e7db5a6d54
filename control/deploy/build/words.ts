/** The result of a build in words, and the one setting that comes from the environment. */

import { UsageError } from "../../output/failure.ts";
import type { Mark } from "../../output/terminal.ts";
import { bytes, duration } from "../../output/words.ts";
import type { BuildResult } from "./types.ts";

/** The first line is what a script wants: the digest, else the id. */
export function renderBuilt(result: BuildResult, mark: Mark): string {
  const size = result.size_bytes === null ? "" : `, ${bytes(result.size_bytes)}`;
  const extras = [
    result.plugins > 0 ? `${result.plugins} plugin ${result.plugins === 1 ? "directory" : "directories"}` : "",
    result.skills > 0 ? `${result.skills} skill ${result.skills === 1 ? "directory" : "directories"}` : "",
    ...result.attestations,
  ].filter((text) => text !== "");
  return [
    result.digest ?? result.id ?? result.reference,
    mark.dim(
      `${result.tags.join(", ")} (${result.platforms.join(", ")}${size}) in ${duration(result.duration_ms)}` +
        `${extras.length > 0 ? `, with ${extras.join(", ")}` : ""}${result.pushed ? ", pushed" : ""}`,
    ),
    ...(result.recorded === null ? [] : [mark.dim(`Noted in ${result.recorded}`)]),
  ].join("\n");
}

/** SOURCE_DATE_EPOCH (reproducible-builds.org), in seconds; null when it is not set. */
export function sourceDateEpoch(environment: Readonly<Record<string, string | undefined>>): number | null {
  const text = environment["SOURCE_DATE_EPOCH"];
  if (!text) return null;
  if (!/^\d{1,12}$/.test(text)) throw new UsageError("SOURCE_DATE_EPOCH is no number of seconds since 1970.");
  return Number(text);
}
