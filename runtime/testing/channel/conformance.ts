import type { ConformanceCheck } from "../check.ts";
import { FAILURE_CHECKS } from "./checks/failure-checks.ts";
import { LIFECYCLE_CHECKS } from "./checks/lifecycle-checks.ts";
import { RECEIVING_CHECKS } from "./checks/receiving-checks.ts";
import { SENDING_CHECKS } from "./checks/sending-checks.ts";
import { STRANGER_CHECKS } from "./checks/stranger-checks.ts";
import type { ChannelHarness } from "./harness.ts";
import { runCheck } from "./support.ts";

/** The contract of a channel as checks, one for each thing that a node relies on; for any test runner. */
export function channelConformance(harness: ChannelHarness): readonly ConformanceCheck[] {
  const { lacks = [] } = harness;
  return [...LIFECYCLE_CHECKS, ...SENDING_CHECKS, ...RECEIVING_CHECKS, ...STRANGER_CHECKS, ...FAILURE_CHECKS].map(
    (check): ConformanceCheck => {
      const lacking = check.needs.filter((feature) => lacks.includes(feature));
      if (lacking.length === 0) return { name: check.name, run: () => runCheck(check, harness) };
      return { name: `${check.name} (skipped: no ${lacking.join(", no ")})`, run: async () => undefined };
    },
  );
}
