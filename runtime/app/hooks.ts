/** Runs the hooks of an event in order of priority; what one returns is what the next one gets. */

import type { AnyHook, Hook, HookContexts, HookEvent } from "../contracts/hooks.ts";
import type { Logger } from "../contracts/ports.ts";

export interface HookPipeline {
  /**
   * The context as the hooks leave it. A hook of a `before` event refuses by throwing; what any other hook throws is
   * logged and skipped: it cannot undo what has happened.
   */
  run<E extends HookEvent>(event: E, context: HookContexts[E], signal?: AbortSignal): Promise<HookContexts[E]>;
}

export function createHookPipeline(hooks: readonly AnyHook[], logger: Logger): HookPipeline {
  for (const hook of hooks) {
    if (!Number.isInteger(hook.priority) || hook.priority < 0 || hook.priority > 99) {
      throw new RangeError(`hook ${hook.name}: priority ${hook.priority} is not an integer from 0 to 99`);
    }
  }
  const byEvent = new Map<HookEvent, AnyHook[]>();
  for (const hook of [...hooks].sort((a, b) => a.priority - b.priority)) {
    byEvent.set(hook.event, [...(byEvent.get(hook.event) ?? []), hook]);
  }

  return {
    async run(event, context, signal) {
      let current = context;
      for (const candidate of byEvent.get(event) ?? []) {
        // The map's key is the hook's own event.
        const hook = candidate as unknown as Hook<typeof event>;
        try {
          current = (await hook.run(current, signal)) ?? current;
        } catch (error) {
          if (event.endsWith(":before")) throw error;
          logger.warn({ err: error, hook: hook.name, event }, "a hook failed and was skipped");
        }
      }
      return current;
    },
  };
}
