import type { ConformanceCheck } from "../check.ts";
import { ABORT_CHECKS } from "./checks/abort-checks.ts";
import { FAILURE_CHECKS } from "./checks/failure-checks.ts";
import { REPLY_CHECKS } from "./checks/reply-checks.ts";
import { TOOL_CHECKS } from "./checks/tool-checks.ts";
import type { ProviderHarness } from "./harness.ts";
import { runCheck } from "./support.ts";

/** The contract of a provider as checks, one for each thing that the agent loop relies on; for any test runner. */
export function providerConformance(harness: ProviderHarness): readonly ConformanceCheck[] {
  const { lacks = [] } = harness;
  return [...REPLY_CHECKS, ...TOOL_CHECKS, ...ABORT_CHECKS, ...FAILURE_CHECKS]
    .filter(({ needs }) => !needs.some((feature) => lacks.includes(feature)))
    .map((check) => ({ name: check.name, run: () => runCheck(check, harness) }));
}
