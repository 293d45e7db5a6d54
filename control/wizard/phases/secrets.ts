/** The variables that the answers need a value for. Pure. */
import type { Answers } from "../answers.ts";
import { serviceOf } from "../provider.ts";
import type { SecretQuestion } from "./question.ts";

/** In the order of the questions; each variable once. */
export function secretsOf(answers: Answers): SecretQuestion[] {
  const { provider, agents, channels, memory } = answers;
  const wanted: SecretQuestion[] = [];
  if (provider.api_key_variable !== undefined)
    wanted.push({ variable: provider.api_key_variable, purpose: "key", of: provider.id ?? "" });
  for (const { provider: id } of agents) {
    const variable = id === undefined || id === provider.id ? undefined : serviceOf(id)?.keyVariables[0];
    if (id !== undefined && variable !== undefined) wanted.push({ variable, purpose: "key", of: id });
  }
  for (const { id, token_variable } of channels)
    if (token_variable !== undefined) wanted.push({ variable: token_variable, purpose: "token", of: id });
  if (memory === "postgres") wanted.push({ variable: "SERVICE_PG_URL", purpose: "database", of: "PostgreSQL" });
  return wanted.filter(({ variable }, index) => wanted.findIndex((other) => other.variable === variable) === index);
}
