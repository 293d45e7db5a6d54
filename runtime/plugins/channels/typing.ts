/** "… is typing" in a conversation, which platforms show for some seconds. */

export interface Typing {
  start(conversation: string): void;
  stop(conversation: string): void;
  stopAll(): void;
}

export interface TypingDeps {
  /** Milliseconds after which it is shown again. */
  readonly againMs: number;
  show(conversation: string): Promise<unknown>;
}

export function createTyping({ againMs, show }: TypingDeps): Typing {
  const shown = new Map<string, { readonly timer: NodeJS.Timeout; turns: number }>();
  return {
    start(conversation) {
      const existing = shown.get(conversation);
      if (existing) existing.turns++;
      if (existing) return;
      const again = (): void => {
        show(conversation).catch(() => undefined);
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
