/** The wiki that is kept from summaries. */

import { applyCommand } from "../advice.ts";
import { type Check, pass, skip, warn } from "../check.ts";
import { workerSnapshot } from "./workers.ts";

export const memoryWiki: Check = {
  id: "memory.wiki",
  subject: "the wiki that is kept from summaries",
  async run(context) {
    const { wiki } = (await context.config()).memory;
    if (!wiki.enabled) return skip("No wiki is kept (memory.wiki.enabled).");
    const worker = await workerSnapshot(context, "wiki");
    if (worker === null) return skip("The node keeps none: it may have started before the wiki was enabled.");
    if (worker.state === "on") return pass(`The model ${worker.model} sorts summaries into pages.`);
    if (worker.state === "off")
      return warn(worker.reason, `Set memory.summarizer.base_url and model, then ${await applyCommand(context)}.`);
    return warn(
      `The model ${worker.model} could not be used: ${worker.reason}`,
      "Check whether memory.summarizer answers; `cairn logs --grep wiki` tells more.",
    );
  },
};
