/** What the schema cannot see: names that point elsewhere, and settings that only make sense together. Pure. */
import { checkDeployment } from "./checks/deployment.ts";
import { checkAgents, checkChannels } from "./checks/names.ts";
import { checkLimits, checkMemory, checkProviders, checkTools } from "./checks/settings.ts";
import type { Environment } from "./references.ts";
import type { Finding } from "./report.ts";
import type { ParsedConfig } from "./schema.ts";
import type { OptionalPart } from "./usage.ts";

export interface CheckInput {
  /** Sections that the schema refused are absent; what depends on them is not checked. */
  readonly config: Partial<ParsedConfig>;
  readonly env: Environment;
  /** Parts that were left out, their references being unresolved. */
  readonly dropped: readonly OptionalPart[];
}

export interface Findings {
  readonly errors: readonly Finding[];
  readonly warnings: readonly Finding[];
}

export function crossCheck(input: CheckInput): Findings {
  const results = [
    checkAgents,
    checkChannels,
    checkProviders,
    checkMemory,
    checkLimits,
    checkTools,
    checkDeployment,
  ].map((check) => check(input));
  return { errors: results.flatMap((result) => result.errors), warnings: results.flatMap((result) => result.warnings) };
}
