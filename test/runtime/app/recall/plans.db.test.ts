import { describeEachDatabase } from "../../../support/databases.ts";
import { testPlans } from "../../../support/plan-suite.ts";

/** What the memory's statements read in a store of 10,000 messages; `plans.nightly.test.ts` asks it of 200,000. */

describeEachDatabase("plans at 10,000 messages", (open, backend) => {
  if (backend === "postgres") testPlans(() => open({ fresh: true }), 10_000, 300_000);
});
