/** A look at a place of which nothing depends on the answer: one that is lost has nothing to tell. */

import { InfraError } from "../../../runtime/contracts/errors.ts";

/** What was found; nothing where the place does not answer (INFRA_HOST_UNREACHABLE). */
export async function noneWhereLost<T>(found: Promise<readonly T[]>, signal: AbortSignal): Promise<readonly T[]> {
  try {
    return await found;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof InfraError && error.code === "INFRA_HOST_UNREACHABLE") return [];
    throw error;
  }
}
