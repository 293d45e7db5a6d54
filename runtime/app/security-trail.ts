/**
 * Security events on their way into the audit log. Refusals cost an attacker nothing, so that they must not fill the disk: of
 * each address and token the first within a minute has a line of its own, the others are counted in one line at its end.
 */

import type { Clock } from "../contracts/ports.ts";
import type { SecurityEvent, SecurityLog } from "../contracts/security-log.ts";

export interface SecurityTrail extends SecurityLog {
  /** Writes what was counted; resolves when all lines are written. */
  close(): Promise<void>;
}

export interface SecurityTrailDeps {
  /** Adds a line; never rejects. */
  readonly append: (entry: Readonly<Record<string, unknown>>) => Promise<void>;
  readonly clock: Clock;
  /** Milliseconds of counting; default a minute. */
  readonly intervalMs?: number;
}

interface Repeated {
  readonly first: SecurityEvent;
  readonly since: string;
  count: number;
}

const INTERVAL_MS = 60_000;
/** Kinds of refusals with lines of their own in an interval; of further ones there is one line an event. */
const MAX_KINDS = 100;

export function createSecurityTrail({ append, clock, intervalMs = INTERVAL_MS }: SecurityTrailDeps): SecurityTrail {
  const kinds = new Map<string, Repeated>();
  const others = new Map<string, Repeated>();
  let timer: NodeJS.Timeout | null = null;
  let last: Promise<void> = Promise.resolve();

  function write(entry: Readonly<Record<string, unknown>>): void {
    last = append(entry);
  }

  /** True where the refusal is to have a line of its own. */
  function count(event: SecurityEvent): boolean {
    timer ??= setTimeout(flush, intervalMs).unref();
    const key = JSON.stringify([event.event, event.address, event.by]);
    const kind = kinds.get(key);
    if (kind) kind.count++;
    else if (kinds.size < MAX_KINDS) {
      kinds.set(key, { first: event, since: clock.now().toISOString(), count: 0 });
      return true;
    } else {
      const other = others.get(event.event);
      if (other) other.count++;
      else others.set(event.event, { first: event, since: clock.now().toISOString(), count: 1 });
    }
    return false;
  }

  function flush(): void {
    if (timer) clearTimeout(timer);
    timer = null;
    for (const { first, since, count: more } of kinds.values()) {
      const { event, outcome, address, by } = first;
      if (more > 0) write({ event, outcome, address, by, since, count: more });
    }
    for (const { first, since, count: more } of others.values()) {
      write({ event: first.event, outcome: first.outcome, since, count: more, details: { addresses: "several" } });
    }
    kinds.clear();
    others.clear();
  }

  return {
    record(event) {
      if (event.outcome === "refused" && !count(event)) return;
      const { requestId: request_id, ...rest } = event;
      write({ ...rest, request_id });
    },
    async close() {
      flush();
      await last;
    },
  };
}
