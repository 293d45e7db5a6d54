/** The passphrase of a stack's secrets: made once, kept in a file that only its owner may read. */

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile } from "node:fs/promises";
import { createDurably } from "../../../runtime/files/durable.ts";
import { passphraseAbsent } from "../engine/failure.ts";
import type { InfraFiles } from "../files.ts";

/** Random bytes of a generated secret: 43 characters of base64url. */
const SECRET_BYTES = 32;

/** A password that may stand in a URL as it is. */
export function generateSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

/**
 * Makes the state directory and the passphrase of a new stack. A stack that has secrets already never gets another one:
 * INFRA_PASSPHRASE_LOST when its file is gone.
 */
export async function ensurePassphrase(files: InfraFiles, stack: string): Promise<void> {
  await mkdir(files.state, { recursive: true, mode: 0o700 });
  await chmod(files.state, 0o700);
  if (existsSync(files.passphrase)) {
    await chmod(files.passphrase, 0o600);
    return;
  }
  if (await hasSecrets(files)) throw passphraseAbsent(stack);
  // Two commands at once must not give the stack two, and a full disk must not leave an empty one.
  await createDurably(files.passphrase, `${generateSecret()}\n`, 0o600);
}

/** INFRA_PASSPHRASE_LOST when the stack has secrets and there is no file that could open them. */
export async function checkPassphrase(files: InfraFiles, stack: string): Promise<void> {
  if (!existsSync(files.passphrase) && (await hasSecrets(files))) throw passphraseAbsent(stack);
}

async function hasSecrets(files: InfraFiles): Promise<boolean> {
  const text = await readFile(files.stackFile, "utf8").catch(() => "");
  return text.includes("encryptionsalt:");
}
