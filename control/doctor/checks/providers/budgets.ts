/** Whether agents have used up what they may use: their turns are refused then. */

import { type Check, fail, pass, skip, warn } from "../check.ts";

const WARN_SHARE = 0.8;

export const providersBudgets: Check = {
  id: "providers.budgets",
  subject: "the budgets of the agents",
  async run(context) {
    const { agents } = await context.health();
    const budgets = Object.entries(agents).flatMap(([name, { budget }]) => (budget ? [{ name, ...budget }] : []));
    if (budgets.length === 0) return skip("No agent has a budget.");
    const near = budgets.flatMap(({ name, on_limit, limits }) =>
      limits.flatMap(({ limit, share, resets_at }) => {
        if (share < WARN_SHARE) return [];
        const words = `${name} has used ${Math.floor(share * 100)} % of ${limit}, which ends at ${resets_at}`;
        return [{ words, stopped: share >= 1 && on_limit === "stop" }];
      }),
    );
    if (near.length === 0) return pass("No agent is near its budget.");
    const message = `${near.map(({ words }) => words).join("; ")}.`;
    const fix = "Wait until then, or raise agents.<name>.budget; `cairn usage --by agent` has what was used.";
    return near.some(({ stopped }) => stopped) ? fail(message, fix) : warn(message, fix);
  },
};
