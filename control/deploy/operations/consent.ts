/** Refuses a question that nobody can be asked, before the work begins. */

import { needsTerminal } from "../../output/failure.ts";
import type { OperationInput } from "./services.ts";

/** UsageError without a terminal and without `--yes`. Errors of `readProject` come first: no consent would mend those. */
export async function requireConsent({ dir, services, signal }: OperationInput, yes: boolean): Promise<void> {
  if (yes || services.prompts !== null) return;
  await services.readProject(dir, signal);
  throw needsTerminal("Consent", "--yes");
}
