/**
 * Buttons that were pressed, and commands of menus: they are answered behind the receiving, so many at a time. The owner's count by
 * themselves, and nobody else has more than a part of the others', so that those of strangers hold up nobody for long.
 */

/** That are answered, or wait until the platform can be reached, of the owner and of all others; more are dropped. */
const MOST = 100;
/** Of one person who is not the owner. */
const MOST_EACH = 10;

export interface Presses {
  /** `work` does not reject. */
  take(user: string, isOwner: boolean, work: () => Promise<void>): void;
}

export function createPresses(): Presses {
  const running = { owner: 0, others: 0 };
  const byUser = new Map<string, number>();

  function count(user: string, who: keyof typeof running, by: 1 | -1): void {
    running[who] += by;
    const now = (byUser.get(user) ?? 0) + by;
    if (now === 0) byUser.delete(user);
    else byUser.set(user, now);
  }

  return {
    take(user, isOwner, work) {
      const who = isOwner ? "owner" : "others";
      if (running[who] >= MOST || (!isOwner && (byUser.get(user) ?? 0) >= MOST_EACH)) return;
      count(user, who, 1);
      work().finally(() => count(user, who, -1));
    },
  };
}
