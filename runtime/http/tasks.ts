/** What messages of other nodes have besides: which turns wait for them, and for how long. */

import { z } from "zod";
import type { Principal } from "../app/api.ts";
import type { HandedTask } from "../contracts/delegation.ts";
import { RuntimeError } from "../contracts/errors.ts";

const DAY_MS = 86_400_000;
/** Beyond the levels that there are: what is too deep is refused as that. */
const MAX_CHAIN = 16;

export const taskSchema = z
  .strictObject({
    chain: z
      .array(z.strictObject({ node: z.string().max(100), agent: z.string().max(200), turn_id: z.string().max(100) }))
      .min(1)
      .max(MAX_CHAIN)
      .describe("The turns that wait, the nearest first."),
    deadline_ms: z.number().int().min(1).max(DAY_MS).describe("For how long they wait from now on."),
  })
  .describe("Of messages of other nodes, and of them alone.");

/** A node sends tasks and nothing else, and nobody else sends them. RUNTIME_INVALID_REQUEST. */
export function taskOf(
  { peer }: Principal,
  given: z.infer<typeof taskSchema> | undefined,
  idempotencyKey: string | undefined,
): HandedTask | undefined {
  if (peer === undefined && given === undefined) return undefined;
  if (peer !== undefined && given !== undefined && idempotencyKey !== undefined) {
    return { chain: given.chain, deadlineMs: given.deadline_ms };
  }
  const message = peer ? "Another node sends tasks alone, each under a key." : "Only another node sends tasks.";
  const issues = [{ path: "task", message: peer ? "is needed, and Idempotency-Key" : "is of other nodes" }];
  throw new RuntimeError("RUNTIME_INVALID_REQUEST", message, { issues });
}
