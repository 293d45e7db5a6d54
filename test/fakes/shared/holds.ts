/** Holds requests at an exact point, so that a test ends their client there: whether the platform has taken them is certain then. */

/** Before the platform takes a request, or when it has taken it, before its client hears of it. */
export type Moment = "before" | "after";

export interface Holds<Call> {
  /** Resolves when the next request that matches is there, or the nth one. It is never answered. */
  next(moment: Moment, matches: (call: Call) => boolean, nth?: number): Promise<void>;
  /** For the fake: stays pending where the request is held. */
  pass(moment: Moment, call: Call): Promise<void>;
}

interface Trap<Call> {
  readonly moment: Moment;
  matches(call: Call): boolean;
  /** Requests until it springs. */
  remaining: number;
  spring(): void;
}

export function createHolds<Call>(): Holds<Call> {
  const traps = new Set<Trap<Call>>();
  return {
    next(moment, matches, nth = 1) {
      const sprung = Promise.withResolvers<void>();
      traps.add({ moment, matches, remaining: nth, spring: sprung.resolve });
      return sprung.promise;
    },
    async pass(moment, call) {
      const trap = [...traps].find((one) => one.moment === moment && one.matches(call));
      if (trap === undefined || --trap.remaining > 0) return;
      traps.delete(trap);
      trap.spring();
      await new Promise<never>(() => undefined);
    },
  };
}
