/**
 * The events of running turns, held in memory so that a client may come late or come back. Bounded: of a very long turn
 * the oldest events are dropped (its final event holds the whole text), and an ended turn is kept for a few minutes only.
 */

import { isFinal, type StreamEvent } from "../../contracts/stream.ts";
import type { NumberedEvent } from "../api.ts";

/** Ids grow over attempts too: an attempt starts above everything that an earlier one can have said. */
const IDS_PER_ATTEMPT = 1_000_000;
const MAX_EVENTS_PER_TURN = 20_000;
const MAX_ENDED_TURNS = 1_000;
const KEEP_ENDED_MS = 5 * 60_000;
/** UTF-16 code units of all events together, about; the events of the longest ended turns go first. */
const MAX_UNITS = 16 * 1024 ** 2;
/** What an event costs beside its text. */
const EVENT_UNITS = 100;

interface Feed {
  readonly events: NumberedEvent[];
  units: number;
  endedAt: number | null;
}

export class StreamHub {
  readonly #feeds = new Map<string, Feed>();
  /** Readers that wait for a turn's next event; also for a turn that has not begun, or begins again. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #monotonic: () => number;
  #units = 0;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Starts the feed of an attempt, in place of an earlier attempt's: readers that wait go on with the new one. */
  open(turnId: string, attempt: number): (event: StreamEvent) => void {
    this.#forgetOld();
    const feed: Feed = { events: [], units: 0, endedAt: null };
    this.#forget(turnId);
    this.#feeds.set(turnId, feed);
    let nextId = firstIdOf(attempt);
    return (event) => this.#push(turnId, feed, { id: nextId++, event });
  }

  /** An event of a turn that waits, after those of its attempt; where they are not held, above them. */
  say(turnId: string, attempt: number, event: StreamEvent): void {
    const feed = this.#feed(turnId);
    const last = feed.events.at(-1);
    // It has ended, or goes on in a later attempt: too late.
    if (last && (isFinal(last.event) || last.id > finalIdOf(attempt))) return;
    this.#push(turnId, feed, { id: last ? last.id + 1 : firstIdOf(attempt) + IDS_PER_ATTEMPT / 2, event });
  }

  /** An event of a turn that another node runs, under the id that it has there. What is held already is not taken twice. */
  copy(turnId: string, numbered: NumberedEvent): void {
    const feed = this.#feed(turnId);
    if (numbered.id > (feed.events.at(-1)?.id ?? 0)) this.#push(turnId, feed, numbered);
  }

  /** Nobody adds here to what there is up to this id: it is kept as an ended turn is, unless the turn goes on here. */
  rest(turnId: string, upTo: number): void {
    const feed = this.#feeds.get(turnId);
    const last = feed?.events.at(-1);
    if (feed && last && last.id <= upTo) feed.endedAt ??= this.#monotonic();
    this.#forgetOld();
  }

  /** The highest id that is held; 0: none. */
  lastId(turnId: string): number {
    return this.#feeds.get(turnId)?.events.at(-1)?.id ?? 0;
  }

  #feed(turnId: string): Feed {
    const held = this.#feeds.get(turnId);
    if (held) return held;
    this.#forgetOld();
    const feed: Feed = { events: [], units: 0, endedAt: null };
    this.#feeds.set(turnId, feed);
    return feed;
  }

  #push(turnId: string, feed: Feed, numbered: NumberedEvent): void {
    const { event } = numbered;
    feed.events.push(numbered);
    this.#count(feed, unitsOf(event));
    if (feed.events.length > MAX_EVENTS_PER_TURN) this.#drop(feed, MAX_EVENTS_PER_TURN / 10);
    // A turn that waits may do so for days: its question is in its row.
    if (isFinal(event) || event.type === "turn.waiting") {
      feed.endedAt = this.#monotonic();
      this.#forgetOld();
    }
    if (this.#units > MAX_UNITS) this.#makeRoom(feed);
    for (const wake of this.#waiting.get(turnId) ?? []) wake();
    this.#waiting.delete(turnId);
  }

  #count(feed: Feed, units: number): void {
    feed.units += units;
    this.#units += units;
  }

  /** The oldest events of a feed: the final one holds the whole text. */
  #drop(feed: Feed, count: number): void {
    for (const { event } of feed.events.splice(0, count)) this.#count(feed, -unitsOf(event));
  }

  #forget(turnId: string): void {
    const feed = this.#feeds.get(turnId);
    if (feed) this.#count(feed, -feed.units);
    this.#feeds.delete(turnId);
  }

  /** Ended turns are read from their rows; of running ones the oldest half of the events goes. */
  #makeRoom(current: Feed): void {
    for (const [turnId, feed] of this.#feeds) {
      if (this.#units <= MAX_UNITS / 2) return;
      if (feed !== current && feed.endedAt !== null) this.#forget(turnId);
    }
    for (const feed of this.#feeds.values()) {
      if (this.#units <= MAX_UNITS) return;
      this.#drop(feed, Math.floor(feed.events.length / 2));
    }
  }

  /** The events after `lastEventId` that are held now. */
  since(turnId: string, lastEventId: number): readonly NumberedEvent[] {
    const events = this.#feeds.get(turnId)?.events ?? [];
    // Newest events stand at the end: search from there, a reader is seldom far behind.
    let start = events.length;
    while (start > 0 && (events[start - 1]?.id ?? 0) > lastEventId) start--;
    return events.slice(start);
  }

  /** Resolves at the next event of the turn; `cancel` ends the wait. */
  next(turnId: string): { readonly promise: Promise<void>; cancel(): void } {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(turnId) ?? new Set();
    this.#waiting.set(turnId, waiting.add(resolve));
    return {
      promise,
      cancel: () => {
        waiting.delete(resolve);
        if (waiting.size === 0 && this.#waiting.get(turnId) === waiting) this.#waiting.delete(turnId);
        resolve();
      },
    };
  }

  #forgetOld(): void {
    const limit = this.#monotonic() - KEEP_ENDED_MS;
    let ended = 0;
    // Newest last in a Map: walk from the newest, so that the count bound keeps the newest.
    for (const [turnId, feed] of [...this.#feeds].reverse()) {
      if (feed.endedAt === null) continue;
      ended++;
      if (feed.endedAt < limit || ended > MAX_ENDED_TURNS) this.#forget(turnId);
    }
  }
}

function unitsOf(event: StreamEvent): number {
  if ("text" in event) return EVENT_UNITS + event.text.length;
  if (event.type === "tool.finished") return EVENT_UNITS + event.result.length;
  if (event.type === "turn.attachment") return EVENT_UNITS + JSON.stringify(event.attachment).length;
  return event.type === "tool.started" ? EVENT_UNITS + JSON.stringify(event.arguments).length : EVENT_UNITS;
}

/** The id under which the final event of an attempt is shown when its feed is no longer held. */
export function finalIdOf(attempt: number): number {
  return firstIdOf(attempt + 1) - 1;
}

function firstIdOf(attempt: number): number {
  return attempt * IDS_PER_ATTEMPT + 1;
}
