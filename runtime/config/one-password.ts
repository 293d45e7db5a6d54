/** Secrets behind `op://vault/item/field`, read through the password manager's `op` command. */
import { ConfigError } from "../contracts/errors.ts";
import type { Environment, SecretReader } from "./references.ts";

export interface OnePasswordOptions {
  /** What `op` sees: PATH finds it, OP_SERVICE_ACCOUNT_TOKEN or a session signs it in. */
  readonly env: Environment;
  /** Milliseconds that one secret may take, an unlock prompt included; default 30,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Errors name the reference and what `op` complained of on its standard error, never a value. */
export function createOnePasswordReader(options: OnePasswordOptions): SecretReader {
  const { env, timeoutMs = 30_000, signal } = options;
  return async (reference) => {
    // Few configurations have such a reference, and all commands load this file.
    const { execa } = await import("execa");
    const result = await execa("op", ["read", "--no-newline", reference], {
      env: definedOnly(env),
      extendEnv: false,
      stdin: "ignore",
      timeout: timeoutMs,
      forceKillAfterDelay: 1_000,
      reject: false,
      stripFinalNewline: true,
      ...(signal ? { cancelSignal: signal } : {}),
    });
    if (!result.failed && result.stdout !== "") return result.stdout;
    if (result.code === "ENOENT") {
      throw unresolved(reference, "the command `op` is not installed or not on PATH");
    }
    if (result.isCanceled) throw unresolved(reference, "reading it was interrupted");
    if (result.timedOut) throw unresolved(reference, `\`op\` gave no answer within ${timeoutMs / 1_000} s`);
    if (!result.failed) throw unresolved(reference, "the field is empty");
    const complaint = result.stderr.trim().split("\n", 1)[0]?.slice(0, 200);
    throw unresolved(
      reference,
      complaint ? `\`op\` refused: ${complaint}` : `\`op\` failed with exit code ${result.exitCode ?? "unknown"}`,
    );
  };
}

function unresolved(reference: string, reason: string): ConfigError {
  return new ConfigError("CONFIG_SECRET_UNRESOLVED", `${reference} could not be read: ${reason}`, {
    hint: "Sign in with `op signin`, or set OP_SERVICE_ACCOUNT_TOKEN, and check the reference with `op read`.",
  });
}

function definedOnly(env: Environment): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
