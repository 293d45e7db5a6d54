/** The model that describes tool calls, without which no search finds them. */

import { type Check, pass, skip, warn } from "../check.ts";
import { queueStates } from "../queues/states.ts";
import { workerSnapshot } from "./workers.ts";

const QUEUE = "synthesize-tool-call";

export const memorySynthesis: Check = {
  id: "memory.synthesis",
  subject: "the model that describes tool calls",
  async run(context) {
    const worker = await workerSnapshot(context, "synthesis");
    if (worker === null) return skip("The node does not report it.");
    const waiting = (await queueStates(context)).find(({ queue }) => queue === QUEUE)?.waiting ?? 0;
    const calls = `${waiting} ${waiting === 1 ? "tool call waits" : "tool calls wait"}`;
    if (worker.state === "off") {
      return skip(`${calls} for a sentence, and no model writes it: ${worker.reason}`);
    }
    if (worker.state === "unavailable") {
      return warn(
        `The model ${worker.model} could not be used: ${worker.reason} ${calls}.`,
        "Check whether TOOL_SYNTH_ENDPOINT, or else memory.summarizer, answers and has that model; `cairn logs --grep synthesizer` tells more.",
      );
    }
    return pass(`The model ${worker.model} describes tool calls; ${calls}.`);
  },
};
