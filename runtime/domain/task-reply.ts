/** How the reply of a task is put before the model of the turn that has waited for it: bounded, and marked as data. Pure. */

import { cap } from "./cap.ts";
import { markedFence } from "./marked-fence.ts";
import { fenceable } from "./prompt-data.ts";

/** UTF-16 code units that the model gets. */
export const MAX_TASK_REPLY = 30_000;

const NAME = "reply";

/** `mark` is random and made for this call. What the other agent has read may speak through it. */
export function taskReply(reply: string, mark: string): string {
  const { text, truncated, fullLength } = cap(reply, MAX_TASK_REPLY);
  const safe = fenceable(text, NAME);
  const fenced = markedFence(
    { name: NAME, from: "the agent that did the task" },
    safe.trim() === "" ? "(nothing)" : safe,
    mark,
  );
  return truncated ? `${fenced}\n(${fullLength - text.length} more characters of the reply are left out)` : fenced;
}
