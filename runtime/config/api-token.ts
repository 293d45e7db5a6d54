/** The owner's token of the HTTP API: all scopes. Made once, kept in the secrets file. */
import { randomBytes } from "node:crypto";
import { createOnePasswordReader } from "./one-password.ts";
import { type Environment, isSecretReference, type SecretReader } from "./references.ts";
import { API_TOKEN_VARIABLE, addSecrets, readSecretsFile, type Secret } from "./secrets-file.ts";

export interface ApiToken {
  readonly token: string;
  readonly source: "environment" | "file" | "generated";
}

export interface ApiTokenOptions {
  readonly random?: (size: number) => Buffer;
  /** Reads a token that is an `op://` reference; default: the `op` command. */
  readonly readSecret?: SecretReader;
}

/** 32 random bytes, with a prefix by which a leaked one can be recognised. */
export function generateApiToken(random: (size: number) => Buffer = randomBytes): string {
  return `cairn_${random(32).toString("base64url")}`;
}

/**
 * The token in use; made and written into the secrets file of `dir` when there is none. Errors as `readSecretsFile`'s,
 * and CONFIG_SECRET_UNRESOLVED.
 */
export async function ensureApiToken(dir: string, env: Environment, options: ApiTokenOptions = {}): Promise<ApiToken> {
  const given = env[API_TOKEN_VARIABLE];
  const file = await readSecretsFile(dir);
  const token = given || file.values[API_TOKEN_VARIABLE];
  if (token) {
    const read = options.readSecret ?? createOnePasswordReader({ env: { ...file.values, ...env } });
    return { token: isSecretReference(token) ? await read(token) : token, source: given ? "environment" : "file" };
  }
  const generated = generateApiToken(options.random);
  const added = await addSecrets(dir, [apiTokenSecret(generated)]);
  // Another process has added one in the meantime: that one counts.
  if (added.length === 0) return ensureApiToken(dir, env, options);
  return { token: generated, source: "generated" };
}

export function apiTokenSecret(token: string): Secret {
  const comment = "The owner's token of the HTTP API. It permits everything: keep it secret.";
  return { name: API_TOKEN_VARIABLE, value: token, comment };
}
