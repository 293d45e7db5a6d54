/** What goes into `.env`: the owner's token, and values of the variables that the answers need, typed or from the environment. */
import {
  API_TOKEN_VARIABLE,
  apiTokenSecret,
  type Environment,
  generateApiToken,
  type Secret,
} from "../../runtime/config/index.ts";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import type { Answers } from "./answers.ts";
import { settingFields, TOKEN } from "./channel-catalogue.ts";
import type { SecretQuestion } from "./phases/question.ts";
import { serviceOf } from "./provider.ts";

const COMMENT = "Given at setup.";
/** What a line of `.env` cannot hold without quotes. */
const NOT_PLAIN = /["'`\n\r\\#\s]/;

export interface SecretsInput {
  readonly answers: Answers;
  /** The environment of the process. */
  readonly env: Environment;
  /** What `.env` has. */
  readonly written: Readonly<Record<string, string>>;
  /** By the name of the variable. */
  readonly typed: ReadonlyMap<string, string>;
  readonly random: (size: number) => Buffer;
}

export interface NewSecrets {
  readonly secrets: readonly Secret[];
  readonly token: "generated" | "file" | "environment";
}

/** CONFIG_INVALID for a value that a line of `.env` cannot hold. */
export function newSecrets({ answers, env, written, typed, random }: SecretsInput): NewSecrets {
  const secrets: Secret[] = [];
  let token: NewSecrets["token"] = "generated";
  if (env[API_TOKEN_VARIABLE]) token = "environment";
  else if (written[API_TOKEN_VARIABLE]) token = "file";
  else secrets.push(apiTokenSecret(generateApiToken(random)));
  for (const { variable } of secretsOf(answers)) {
    const value = typed.get(variable) ?? (answers.save_key === true ? env[variable] : undefined);
    if (!value || written[variable]) continue;
    if (!isPlain(value)) {
      throw new ConfigError(
        "CONFIG_INVALID",
        `${variable} holds characters that a line of .env cannot hold; write it there by hand.`,
      );
    }
    secrets.push({ name: variable, value, comment: COMMENT });
  }
  return { secrets, token };
}

export function isPlain(value: string): boolean {
  return !NOT_PLAIN.test(value);
}

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
  for (const { id, token_variable, settings = {} } of channels) {
    const of = (key: string) => ({ of: id, field: { channel: id, key, settings } });
    if (token_variable !== undefined) wanted.push({ variable: token_variable, purpose: "token", ...of(TOKEN) });
    for (const { key, variable } of settingFields(id)) {
      const chosen = variable === undefined ? undefined : settings[key];
      if (chosen !== undefined) wanted.push({ variable: chosen, purpose: "setting", ...of(key) });
    }
  }
  if (memory === "postgres") wanted.push({ variable: "SERVICE_PG_URL", purpose: "database", of: "PostgreSQL" });
  return wanted.filter(({ variable }, index) => wanted.findIndex((other) => other.variable === variable) === index);
}
