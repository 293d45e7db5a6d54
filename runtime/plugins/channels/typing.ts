/** "… is typing" in a conversation, which platforms show for some seconds. */

import { CairnError } from "../../contracts/errors.ts";

export interface Typing {
  start(conversation: string): void;
  stop(conversation: string): void;
  stopAll(): void;
}

export interface TypingDeps {
  /** Milliseconds after which it is shown again. */
  readonly againMs: number;
  /** Rejects with the pause that the platform asks for (`retryAfterS`): nothing is shown meanwhile. */
  show(conversation: string): Promise<unknown>;
}

export function createTyping({ againMs, show }: TypingDeps): Typing {
  let dueAt = 0;
  const shown = new Map<string, { readonly timer: NodeJS.Timeout; turns: number }>();
  return {
    start(conversation) {
      const existing = shown.get(conversation);
      if (existing) existing.turns++;
      if (existing) return;
      const again = (): void => {
        if (performance.now() < dueAt) return;
        show(conversation).catch((error: unknown) => {
          const pauseS = error instanceof CairnError ? error.details.retryAfterS : undefined;
          if (pauseS !== undefined) dueAt = performance.now() + pauseS * 1_000;
        });
      };
      again();
      shown.set(conversation, { timer: setInterval(again, againMs), turns: 1 });
    },
    stop(conversation) {
      const entry = shown.get(conversation);
      if (!entry || --entry.turns > 0) return;
      clearInterval(entry.timer);
      shown.delete(conversation);
    },
    stopAll() {
      for (const { timer } of shown.values()) clearInterval(timer);
      shown.clear();
    },
  };
}
