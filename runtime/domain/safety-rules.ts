/** The owner's own rules about tool calls (`runtime.safety.rules`): which call they match, and what follows. Pure. */

export interface SafetyRule {
  /** Shown when the rule matches. */
  readonly name: string;
  /** Tools that the rule applies to; all when absent. */
  readonly tools?: readonly string[] | undefined;
  /** Argument that the pattern is matched against; all arguments as JSON when absent. */
  readonly argument?: string | undefined;
  /** JavaScript regular expression. */
  readonly pattern: string;
  readonly action: "refuse" | "ask" | "warn";
  /** Message for the agent. */
  readonly message?: string | undefined;
}

export interface CompiledRule extends SafetyRule {
  readonly expression: RegExp;
}

/** SyntaxError for a pattern that is no regular expression; the configuration has checked them before. */
export function compileRules(rules: readonly SafetyRule[]): readonly CompiledRule[] {
  return rules.map((rule) => ({ ...rule, expression: new RegExp(rule.pattern) }));
}

/** The rules that match a call, in their order. */
export function matchingRules(
  rules: readonly CompiledRule[],
  call: { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> },
): readonly CompiledRule[] {
  return rules.filter((rule) => {
    if (rule.tools && !rule.tools.includes(call.name)) return false;
    const subject = rule.argument === undefined ? call.arguments : call.arguments[rule.argument];
    if (subject === undefined) return false;
    return rule.expression.test(typeof subject === "string" ? subject : JSON.stringify(subject));
  });
}
