/** What a failure at one conversation means, for the conversation and for the rest of the run: skip, wait, retry or give up. Pure. */

import { CairnError } from "../../contracts/errors.ts";
import { codeOf } from "../../contracts/system-errors.ts";
import { retryAfterMs } from "../../domain/summaries/steps.ts";
import { ClaimLostError } from "../claims.ts";
import { ModelUnavailableError } from "./call-summarizer.ts";

export type Failure =
  /** Another worker has the conversation: it is skipped. */
  | { readonly kind: "taken-over" }
  /** The node stops, or the store is unavailable: the run ends with the error. */
  | { readonly kind: "ends-run" }
  /** The model cannot be used: the conversation is free again, and none after it is begun. */
  | { readonly kind: "model-unavailable"; readonly cause: CairnError }
  /** The model's server cuts prompts of this length: the conversation waits for a larger window, and shorter ones go on. */
  | { readonly kind: "cut"; readonly cause: CairnError }
  /** Too long for the model: the next try sends less of it at a time. */
  | { readonly kind: "too-long" }
  /** The conversation's own: tried again after a pause of so many milliseconds, or given up (null) after its last attempt. */
  | { readonly kind: "failed"; readonly attempts: number; readonly againInMs: number | null; readonly message: string };

export interface FailedTry {
  /** Whether the run's signal has aborted. */
  readonly stopping: boolean;
  /** Failures of the conversation before this one. */
  readonly attempts: number;
  /** Whether less of the conversation can be sent at a time. */
  readonly canSendLess: boolean;
}

export function failureOf(error: unknown, { stopping, attempts, canSendLess }: FailedTry): Failure {
  if (error instanceof ClaimLostError || hasCode(error, "MEMORY_CONFLICT")) return { kind: "taken-over" };
  if (stopping || isOfTheStore(error)) return { kind: "ends-run" };
  if (error instanceof ModelUnavailableError) {
    return { kind: error.shorterMayDo ? "cut" : "model-unavailable", cause: error.cause };
  }
  if (canSendLess && hasCode(error, "PROVIDER_CONTEXT_TOO_LONG")) return { kind: "too-long" };
  return {
    kind: "failed",
    attempts: attempts + 1,
    againInMs: retryAfterMs(attempts + 1),
    message: error instanceof Error ? error.message : String(error),
  };
}

function hasCode(error: unknown, code: CairnError["code"]): boolean {
  return error instanceof CairnError && error.code === code;
}

function isOfTheStore(error: unknown): boolean {
  if (!(error instanceof CairnError) || !error.code.startsWith("MEMORY_")) return false;
  return error.code !== "MEMORY_SUMMARY_UNUSABLE" && !REFUSED_DATA.test(codeOf(error.details.cause) ?? "");
}

/** SQLSTATE classes of what the store refuses for what it holds, or for its size: that is the conversation's own. */
const REFUSED_DATA = /^(?:22|54)/;
