/** The owner's token of the HTTP API: all scopes. Made once, kept in the secrets file. */
import { randomBytes } from "node:crypto";
import type { Environment } from "./references.ts";
import { API_TOKEN_VARIABLE, addSecrets, readSecretsFile } from "./secrets-file.ts";

export interface ApiToken {
  readonly token: string;
  readonly source: "environment" | "file" | "generated";
}

/** 32 random bytes, with a prefix by which a leaked one can be recognised. */
export function generateApiToken(random: (size: number) => Buffer = randomBytes): string {
  return `cairn_${random(32).toString("base64url")}`;
}

/** The token in use; made and written into the secrets file of `dir` when there is none. Errors as `readSecretsFile`'s. */
export async function ensureApiToken(
  dir: string,
  env: Environment,
  random?: (size: number) => Buffer,
): Promise<ApiToken> {
  const given = env[API_TOKEN_VARIABLE];
  if (given) return { token: given, source: "environment" };
  const written = (await readSecretsFile(dir)).values[API_TOKEN_VARIABLE];
  if (written) return { token: written, source: "file" };
  const token = generateApiToken(random);
  await addSecrets(dir, [apiTokenSecret(token)]);
  return { token, source: "generated" };
}

export function apiTokenSecret(token: string) {
  return {
    name: API_TOKEN_VARIABLE,
    value: token,
    comment: "The owner's token of the HTTP API: whoever has it may do everything.",
  };
}
