/** `token rotate NAME`: another value for a token of the store, and for the capture hook of this home where it is that one's. */

import { readCaptureSettings, writeCaptureSettings } from "../../runtime/client/hook/settings.ts";
import { withNode } from "../service/connect.ts";
import type { Deployment } from "../service/deployment.ts";

export interface NamedRotation {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  /** ISO 8601; null: it does not expire. */
  readonly expires_at: string | null;
  /** Shown only once. */
  readonly token: string;
  /** Whether the capture hook of this home has it now; null where that has another one. */
  readonly capture: boolean | null;
}

export interface NamedRotateOptions {
  readonly signal: AbortSignal;
  /** Of the deployed stack; the first that works when absent. */
  readonly node?: string | undefined;
  readonly expiresAt?: Date | undefined;
}

/** Errors of `withNode` and of the node: RUNTIME_NOT_FOUND, RUNTIME_CONFLICT, RUNTIME_FORBIDDEN. */
export async function rotateNamedToken(
  deployment: Deployment,
  idOrName: string,
  { signal, node, expiresAt }: NamedRotateOptions,
): Promise<NamedRotation> {
  return withNode(
    deployment,
    signal,
    async (client) => {
      const rotated = await client.rotateToken(idOrName, { signal, expiresAt });
      return { ...rotated, capture: await giveToCapture(deployment.home, rotated) };
    },
    { node },
  );
}

/** The new value is nowhere else by now: what keeps the hook from it must not keep the caller from it, too. */
async function giveToCapture(home: string, { id, token }: { id: string; token: string }): Promise<boolean | null> {
  try {
    const stored = await readCaptureSettings(home);
    if (stored?.token_id !== id) return null;
    const { base_url, local, token_id } = stored;
    await writeCaptureSettings(home, { version: 1, base_url, local, token_id }, token);
    return true;
  } catch {
    return false;
  }
}
