/** Has a conversation summarized when its session ends, in place of at the summarizer's next interval. */

import type { AnyHook } from "../../../contracts/hooks.ts";

export interface SessionSummaryDeps {
  /** Marks the conversation as due, durably, and starts the summarizer; null without a model. */
  readonly summarize: ((conversationId: string) => Promise<void>) | null;
}

export function createSessionSummaryHooks({ summarize }: SessionSummaryDeps): AnyHook[] {
  if (summarize === null) return [];
  return [
    {
      name: "session_summary",
      event: "session:end",
      priority: 50,
      run: ({ conversationId }) => summarize(conversationId),
    },
  ];
}
