/** The state of the memory without what says nothing: queues that are idle, empty fields, digits of a share. */

import { isRecord } from "../../../contracts/values.ts";
import { without } from "../shared/records.ts";

const NO_NOISE: ReadonlySet<string> = new Set();

/** Pure. Unknown shapes pass unchanged: the memory tools own them. */
export function presentStats(result: unknown): unknown {
  if (!isRecord(result) || !isRecord(result["messages"])) return result;
  const { queues, messages, ...rest } = result;
  const { coverage } = messages;
  return {
    messages: {
      ...messages,
      ...(typeof coverage === "number" ? { coverage: Math.round(coverage * 1_000) / 1_000 } : {}),
    },
    ...rest,
    ...(Array.isArray(queues) ? { queues: queues.map(presentQueue).filter((queue) => queue !== null) } : {}),
  };
}

/** Null for a queue in which nothing waits, runs or has failed. */
function presentQueue(queue: unknown): unknown {
  if (!isRecord(queue)) return queue;
  const isIdle = ["waiting", "active", "failed"].every((count) => queue[count] === 0) && queue["last_error"] === null;
  return isIdle ? null : without(queue, NO_NOISE);
}
