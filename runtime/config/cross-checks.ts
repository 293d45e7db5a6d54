/** What the schema cannot see: names that point elsewhere, and settings that only make sense together. Pure. */
import type { CheckInput, Findings } from "./checks/collector.ts";
import { checkContainerAddresses } from "./checks/container-addresses.ts";
import { checkDatabase } from "./checks/database.ts";
import { checkDeployment } from "./checks/deployment.ts";
import { checkListening } from "./checks/listening.ts";
import { checkMesh } from "./checks/mesh.ts";
import { checkAgents, checkChannels } from "./checks/names.ts";
import { checkPlugins } from "./checks/plugins.ts";
import { checkSchedules } from "./checks/schedules.ts";
import { checkBudgets, checkLimits, checkMemory, checkProviders, checkTools } from "./checks/settings.ts";

export function crossCheck(input: CheckInput): Findings {
  const results = [
    checkAgents,
    checkChannels,
    checkPlugins,
    checkSchedules,
    checkProviders,
    checkBudgets,
    checkMemory,
    checkDatabase,
    checkLimits,
    checkListening,
    checkMesh,
    checkTools,
    checkDeployment,
    checkContainerAddresses,
  ].map((check) => check(input));
  return { errors: results.flatMap((result) => result.errors), warnings: results.flatMap((result) => result.warnings) };
}
