/**
 * Shows running turns in their conversations, on the node that runs them: that the agent types, and its words as they are written. It is a
 * courtesy: a turn does not wait for it, and its reply is sent whole by the outbox, in the messages that have shown it.
 */

import type { Channel, KeepSent } from "../../contracts/channel.ts";
import { CairnError } from "../../contracts/errors.ts";
import type { Logger } from "../../contracts/ports.ts";
import type { StreamEvent } from "../../contracts/stream.ts";
import { beginningOf } from "../../domain/reply-beginning.ts";
import { delegatedBy } from "./turn-delegation.ts";
import { type ClaimedTurn, UNHEARD, unsentText } from "./turn-rows.ts";
import type { TurnStore } from "./turn-store.ts";
import { within } from "./within.ts";

export interface TurnDisplay {
  /** One attempt of a turn, from now on, until its lease is lost. */
  show(turn: ClaimedTurn, lease: AbortSignal): ShownTurn;
}

export interface ShownTurn {
  take(event: StreamEvent): void;
  /** Resolves when no change is under way, or after so many milliseconds, by default 25,000; the next words begin anew. */
  idle(mostMs?: number): Promise<void>;
  end(): void;
}

export interface TurnDisplayDeps {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly store: Pick<TurnStore, "keepDraft" | "isBehind">;
  readonly logger: Logger;
}

/** Milliseconds until a turn is shown as one that takes a while: a quick reply costs its platform one request, not two. */
const TYPING_AFTER_MS = 500;
/** Milliseconds after its first words in which a reply may become whole, so that it is sent once. */
const FIRST_MS = 800;
const MAX_PAUSE_MS = 30_000;
/** For a change that is under way: longer than a channel waits for an answer of its platform. */
const MOST_CHANGE_MS = 25_000;
/** Turns of a channel that are shown at once: each costs a request every few seconds, and the replies go first. */
const MOST_SHOWN = 20;
/** Stands at the end of what is not whole. */
const UNFINISHED = " …";

export function createTurnDisplay({ channels, store, logger }: TurnDisplayDeps): TurnDisplay {
  const shown = new Map<string, number>();
  return {
    show(turn, lease) {
      const channel = channels.get(turn.channel);
      const count = shown.get(turn.channel) ?? 0;
      const isShown = channel?.startTyping !== undefined || channel?.draftPauseMs !== undefined;
      // What another turn reads is in no conversation of the platform.
      if (!channel || !isShown || count >= MOST_SHOWN || delegatedBy(turn) !== null) return NOTHING;
      shown.set(turn.channel, count + 1);
      const { conversation } = turn;
      const failed = (err: unknown) => logger.debug({ err, channel: channel.id }, "typing could not be shown");
      let isTyping = false;
      const typing = setTimeout(() => {
        isTyping = true;
        channel.startTyping?.(conversation).catch(failed);
      }, TYPING_AFTER_MS);
      const words =
        channel.draftPauseMs && channel.edit ? new ShownWords(turn, channel, { store, logger, lease }) : null;
      return {
        take: (event) => words?.take(event),
        idle: async (mostMs) => words?.idle(mostMs),
        end() {
          words?.end();
          shown.set(turn.channel, (shown.get(turn.channel) ?? 1) - 1);
          clearTimeout(typing);
          if (isTyping) channel.stopTyping?.(conversation).catch(failed);
        },
      };
    },
  };
}

const NOTHING: ShownTurn = { take() {}, async idle() {}, end() {} };

interface ShownWordsDeps {
  readonly store: Pick<TurnStore, "keepDraft" | "isBehind">;
  readonly logger: Logger;
  readonly lease: AbortSignal;
}

class ShownWords {
  readonly #turn: ClaimedTurn;
  readonly #channel: Channel;
  readonly #store: Pick<TurnStore, "keepDraft" | "isBehind">;
  readonly #logger: Logger;
  readonly #lease: AbortSignal;
  #text = "";
  /** What the messages show. */
  #written = "";
  #ids: readonly string[];
  /** Those that are stored. */
  #kept: readonly string[];
  /** There may be one more message, which cannot be changed. */
  #isUnheard: boolean;
  #timer: NodeJS.Timeout | null = null;
  #change: Promise<void> | null = null;
  #failures = 0;
  /** Until the next words. */
  #idle = false;
  #cancelled = new AbortController();
  #ended = false;

  constructor(turn: ClaimedTurn, channel: Channel, { store, logger, lease }: ShownWordsDeps) {
    this.#turn = turn;
    this.#channel = channel;
    this.#store = store;
    this.#logger = logger;
    this.#lease = lease;
    this.#kept = turn.draft?.ids ?? [];
    this.#ids = this.#kept.filter((id) => id !== UNHEARD);
    this.#isUnheard = this.#ids.length < this.#kept.length;
    // A message of an earlier attempt may stand there for good: the reply below it says so, and is shown when it is whole.
    this.#ended = this.#isUnheard;
  }

  take(event: StreamEvent): void {
    if (event.type !== "text.delta") return;
    this.#text += event.text;
    if (this.#idle) this.#cancelled = new AbortController();
    this.#idle = false;
    this.#schedule(this.#ids.length === 0 ? FIRST_MS : this.#pauseMs());
  }

  async idle(mostMs = MOST_CHANGE_MS): Promise<void> {
    this.#idle = true;
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#change) await within(mostMs, this.#change);
    // The rest of a longer one would undo what the outbox sends.
    this.#cancelled.abort();
    // Where that could not be done before: without it the reply would be sent as a new message.
    if (!this.#lease.aborted && this.#ids.length > 0)
      await this.#keep(this.#ids, this.#isUnheard).catch(() => undefined);
  }

  end(): void {
    this.#ended = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  #pauseMs(): number {
    return this.#channel.draftPauseMs?.(this.#turn.conversation) ?? MAX_PAUSE_MS;
  }

  #schedule(afterMs: number): void {
    if (this.#ended || this.#idle || this.#timer || this.#change) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#change = this.#write().then((pauseMs) => {
        this.#change = null;
        if (this.#unwritten() !== this.#written) this.#schedule(pauseMs);
      });
    }, afterMs);
  }

  #unwritten(): string {
    return beginningOf(unsentText(this.#turn, this.#text)).trimEnd();
  }

  /** Milliseconds until the next change. */
  async #write(): Promise<number> {
    const text = this.#unwritten();
    if (text === "" || text === this.#written || this.#lease.aborted) return this.#pauseMs();
    try {
      // Else the words would stand above a reply that comes before them.
      if (this.#ids.length === 0 && (await this.#store.isBehind(this.#turn))) return this.#pauseMs();
      await this.#show(`${text}${UNFINISHED}`);
      this.#written = text;
      this.#failures = 0;
      return this.#pauseMs();
    } catch (error) {
      const { retryAfterS } = error instanceof CairnError ? error.details : {};
      const isLost = error instanceof CairnError && error.code === "RUNTIME_LEASE_LOST";
      // A message that may have arrived is not sent again: the outbox sends the reply.
      if (isLost || this.#isUnheard || (retryAfterS === undefined && this.#ids.length === 0)) this.#ended = true;
      this.#logger.debug({ err: error, turnId: this.#turn.turnId }, "the words of a turn could not be shown");
      this.#failures++;
      return Math.max(Math.min(this.#pauseMs() * 2 ** this.#failures, MAX_PAUSE_MS), (retryAfterS ?? 0) * 1_000);
    }
  }

  async #show(text: string): Promise<void> {
    const { turnId, agent, channel, conversation, user } = this.#turn;
    const [primary, ...overflow] = this.#ids;
    const keep: KeepSent = (sent, more) => this.#keep([sent.primary, ...sent.overflow], more);
    try {
      if (primary === undefined) {
        await this.#keep([], true);
        const address = { channel, conversation, user };
        await this.#channel.send({ address, agent, turnId, text }, keep);
        return;
      }
      const signal = AbortSignal.any([this.#cancelled.signal, this.#lease]);
      const sent = await this.#channel.edit?.(conversation, primary, text, overflow, signal, keep);
      if (sent) await keep(sent);
    } catch (error) {
      if (this.#isUnheard && error instanceof CairnError && error.details.notTaken) await this.#keep(this.#ids);
      throw error;
    }
  }

  /** Behind the turn's fence: on another node they are changed into its reply. `isUnheard`: one more may be there from now on. */
  async #keep(ids: readonly string[], isUnheard = false): Promise<void> {
    this.#ids = ids;
    // Of all that was sent until now the ids are here; where this cannot be stored nothing more is sent.
    this.#isUnheard = false;
    const stored = isUnheard ? [...ids, UNHEARD] : ids;
    const isStored = stored.length === this.#kept.length && stored.every((id, index) => id === this.#kept[index]);
    if (!isStored) await this.#store.keepDraft(this.#turn, stored);
    this.#kept = stored;
    this.#isUnheard = isUnheard;
  }
}
