/** Conversations that are due for a summary. */

import { type Check, pass, skip, warn } from "../check.ts";

const WARN_DUE = 20;

export const memorySummaries: Check = {
  id: "memory.summaries",
  subject: "conversations that are due for a summary",
  async run(context) {
    const { summaries, unsummarized, compaction } = await context.stats();
    const { summarizer } = (await context.config()).memory;
    if (summarizer.base_url === undefined) return skip("No summarizer is configured (memory.summarizer).");
    const fix =
      "Check whether the summarizer's model answers (`cairn logs --grep compact`), then `cairn memory retry-failed --task compact`.";
    if (compaction.last_error !== null) return warn(`The last summary failed: ${compaction.last_error}`, fix);
    const due = unsummarized.conversations_over_threshold;
    const message = `${summaries.leaf + summaries.branch + summaries.root} summaries, ${due} conversations are due for one.`;
    return due < WARN_DUE ? pass(message) : warn(message, fix);
  },
};
