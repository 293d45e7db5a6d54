/** A hook that adds a note to what the model reads of each message. */

import type { CreateHook, Hook } from "cairn-agents/plugin";

export const create = (({ settings }) => {
  const hook: Hook<"turn:before"> = {
    name: "NAME",
    event: "turn:before",
    priority: 50,
    // A failure is logged, and the turn goes on. With "closed" it fails.
    policy: "open",
    async run(context) {
      return { ...context, text: `${context.text}\n\n${settings["note"]}` };
    },
  };
  return hook;
}) satisfies CreateHook;
