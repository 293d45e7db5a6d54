/** What a failed build means, in one of our own errors. The one place that reads BuildKit's reasons. */

import { InfraError } from "../../../runtime/contracts/errors.ts";
import { diskFull, dockerFailure, isDiskFull, isUnreachable } from "../images/docker-cli.ts";
import type { BuildFailure } from "./progress.ts";

/** Characters of a step's name that are shown. */
const STEP_LENGTH = 60;

export function buildFailure({ step, reason, output }: BuildFailure): InfraError {
  const said = output.join("\n");
  if (isUnreachable(reason) || (step === null && isUnreachable(said)))
    return dockerFailure(reason || said, "docker build");
  if (isDiskFull(reason) || isDiskFull(said)) return diskFull(firstFull([reason, ...output]));
  const what = step === null ? "The image was not built" : `The step ${shorten(step)} failed`;
  const words = [`${what}: ${reason || "the builder said nothing more"}`, ...output.map((line) => `  ${line}`)];
  const hint = hintFor(`${step}\n${reason}`, said);
  return new InfraError("INFRA_BUILD_FAILED", words.join("\n"), hint === undefined ? {} : { hint });
}

/** What a step fetches follows from its own output only: the lines around it name all other steps. */
function hintFor(headline: string, said: string): string | undefined {
  const words = `${headline}\n${said}`;
  if (/load metadata for|failed to resolve source metadata|pull access denied/i.test(headline)) {
    return "The base image cannot be had: check the network, log in with `docker login`, or name another with --base-image.";
  }
  if (/pushing |push access|unauthorized|denied: |insufficient_scope/i.test(words)) {
    return "Log in with `docker login`, or set deployment.image.username and password; see that the repository exists.";
  }
  if (
    /ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ECONNREFUSED|Temporary failure resolving|UNABLE_TO_GET_ISSUER|SELF_SIGNED/i.test(
      words,
    )
  ) {
    return (
      "The packages cannot be fetched from inside the build: try --network host, name a registry with --npmrc FILE, or use " +
      "a --base-image that knows your mirrors and certificates."
    );
  }
  return undefined;
}

/** A step is named by its whole command, which may be a page long. */
export function shorten(step: string): string {
  const line = step.replaceAll(/\s+/g, " ");
  return line.length > STEP_LENGTH ? `${line.slice(0, STEP_LENGTH)}…` : line;
}

function firstFull(lines: readonly string[]): string {
  return lines.find(isDiskFull)?.trim() ?? "";
}
