/** Priority 20: the owner's own rules. */

import type { Hook } from "../../../contracts/hooks.ts";
import type { Logger } from "../../../contracts/ports.ts";
import { compileRules, matchingRules, type SafetyRule } from "../../../domain/safety-rules.ts";
import { enforce } from "./approval.ts";

export function createCustomRulesHook(deps: {
  readonly rules: readonly SafetyRule[];
  readonly logger: Logger;
}): Hook<"tool:before"> {
  const rules = compileRules(deps.rules);
  return {
    name: "custom_rules",
    event: "tool:before",
    policy: "closed",
    priority: 20,
    async run(context) {
      for (const { name, action, message } of matchingRules(rules, context.call)) {
        if (action === "warn") {
          const { agent, turnId, toolCallId, call } = context;
          deps.logger.warn(
            { rule: name, agent, turnId, toolCallId, tool: call.name },
            message ?? "a tool call matches a rule",
          );
          continue;
        }
        const reason = message
          ? `rule "${name}": ${message.replace(/\.$/, "")}`
          : `rule "${name}" ${action === "ask" ? "asks" : "forbids it"}`;
        await enforce({ action, reason }, context);
      }
    },
  };
}
