/** Whether the platform of a channel takes a secret that was typed. */

import { CairnError } from "../../runtime/contracts/errors.ts";
import { offeredChannel } from "./channel-catalogue.ts";
import type { SecretQuestion } from "./phases/question.ts";

/** A platform that does not answer is no reason to wait longer. */
const ANSWER_MS = 10_000;

export type Verified =
  | { readonly kind: "taken" | "refused" | "unreachable"; readonly words: string }
  /** Nobody is asked about such a secret. */
  | { readonly kind: "unasked" };

/** Rejects only with the signal's reason. */
export async function verifySecret({ field }: SecretQuestion, value: string, signal: AbortSignal): Promise<Verified> {
  const verify = field === undefined ? undefined : offeredChannel(field.channel)?.setup.verify;
  if (field === undefined || verify === undefined) return { kind: "unasked" };
  const { key, settings } = field;
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    return { kind: "taken", words: await verify({ key, value, settings }, limited) };
  } catch (error) {
    signal.throwIfAborted();
    const refused = error instanceof CairnError && error.code === "CHANNEL_REFUSED";
    const words = error instanceof CairnError ? error.message : "The platform cannot be asked.";
    return { kind: refused ? "refused" : "unreachable", words };
  }
}
