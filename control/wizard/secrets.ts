/** What goes into `.env`: the owner's token, and values that were typed or are in the environment. */
import {
  API_TOKEN_VARIABLE,
  apiTokenSecret,
  type Environment,
  generateApiToken,
  type Secret,
} from "../../runtime/config/index.ts";
import { ConfigError } from "../../runtime/contracts/errors.ts";
import type { Answers } from "./answers.ts";
import { secretsOf } from "./phases/secrets.ts";

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
