/**
 * What one running turn writes: its steps and its transcript rows, always together and always behind the fence.
 * An unavailable database is waited for until the turn's lease ends; every write may safely be repeated. The SQL is in turn-store.ts
 * (turns), step-store.ts (steps) and turn-waiting.ts (questions).
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Transaction } from "../../contracts/database.ts";
import { CairnError } from "../../contracts/errors.ts";
import type { ToolCall } from "../../contracts/message.ts";
import type { SentAttachment } from "../../contracts/stream.ts";
import type { ToolResult } from "../../contracts/tool.ts";
import { turnKey } from "../../domain/dedupe.ts";
import type { ChainLink } from "../../domain/delegation.ts";
import type { CountedCall } from "../../domain/usage.ts";
import type { PendingReport, WriteEntry } from "../transcript/batch.ts";
import type { Writer } from "../transcript/writer.ts";
import { type SentFile, sentAttachment } from "./sent-files.ts";
import type { ClaimedTurn, OpenQuestion, Steer, StoredReply, StoredStep, TurnEnd } from "./turn-rows.ts";
import type { TurnStore } from "./turn-store.ts";
import type { WaitingCall } from "./turn-waiting.ts";

export interface OpenedConversation {
  readonly conversationId: string;
  readonly created: boolean;
}

/** The step of the user's own message; the model's steps count from 1. */
const USER_STEP = 0;

export class TurnJournal {
  readonly #turn: ClaimedTurn;
  readonly #store: TurnStore;
  readonly #writer: Writer;
  /** Aborts when the lease is lost or about to end: nothing is written after that. */
  readonly #lease: AbortSignal;
  #conversationId: string | undefined;
  /** Calls of models that are not in the ledger yet: they go there with what is recorded next of the turn. */
  #uncounted: readonly CountedCall[] = [];
  /** Those that the turn has sent; null: earlier attempts may have sent some. */
  #files: readonly SentAttachment[] | null;

  constructor(deps: { turn: ClaimedTurn; store: TurnStore; writer: Writer; lease: AbortSignal }) {
    this.#turn = deps.turn;
    this.#store = deps.store;
    this.#writer = deps.writer;
    this.#lease = deps.lease;
    this.#conversationId = deps.turn.conversationId ?? undefined;
    this.#files = deps.turn.attempt > 1 ? null : [];
  }

  /** Stores what the sender brought along and the user's message; opens a conversation when the session has none. */
  async open(): Promise<OpenedConversation> {
    const turn = this.#turn;
    const brought = turn.history.map(
      (message, index): WriteEntry => ({
        role: message.role,
        content: message.content,
        key: turnKey(turn.turnId, `history-${index}`),
        cap: false,
        metadata: { turn_id: turn.turnId, imported: true },
      }),
    );
    const own: WriteEntry = {
      role: "user",
      content: turn.text === "" ? "[attachment]" : turn.text,
      key: turnKey(turn.turnId, USER_STEP),
      cap: false,
      metadata: {
        turn_id: turn.turnId,
        ...(turn.schedule === null ? {} : { schedule: turn.schedule }),
        ...(turn.attachments.length > 0 ? { attachments: turn.attachments } : {}),
      },
      ...(turn.sentAt === null ? {} : { createdAt: turn.sentAt }),
    };
    const report = await this.#fenced(async (tx) => {
      const writing = this.#write(tx, [...brought.filter((entry) => entry.content !== ""), own]);
      // Sent behind the rows without waiting for them; when they fail, so does this.
      const setting = turn.conversationId === null ? this.#store.setConversation(tx, turn) : Promise.resolve();
      setting.catch(() => undefined);
      const written = await writing;
      await setting;
      return written;
    });
    this.#conversationId = report.conversationId;
    return { conversationId: report.conversationId, created: report.created };
  }

  steps(): Promise<StoredStep[]> {
    return this.#persist(() => this.#store.steps.list(this.#turn.turnId));
  }

  /** What `read` gives, as soon as the database is available. */
  read<T>(read: () => Promise<T>): Promise<T> {
    return this.#persist(read);
  }

  waitingSteers(): Promise<Steer[]> {
    return this.#persist(() => this.#store.steps.waitingSteers(this.#turn.turnId));
  }

  /** A model has answered. It counts even if nothing becomes of the answer. */
  count(call: CountedCall): void {
    this.#uncounted = [...this.#uncounted, call];
  }

  /** Calls that the ledger does not have yet. */
  get uncounted(): readonly CountedCall[] {
    return this.#uncounted;
  }

  /** A reply that asks for tools, that a steer has overtaken, or that broke off; its text is a row of its own. */
  async reply(n: number, reply: StoredReply): Promise<void> {
    await this.#fenced(async (tx) => {
      const { text, model, interrupted } = reply;
      const report = text === "" ? null : await this.#write(tx, [this.#textEntry(n, text, model, interrupted)]);
      await this.#store.steps.recordReply(tx, this.#turn, n, reply, this.#uncounted);
      return report;
    });
    this.#uncounted = [];
  }

  intention(n: number, call: ToolCall): Promise<void> {
    return this.#persist(() => this.#store.steps.recordIntention(this.#turn, n, call));
  }

  /** The files that the turn has sent, in their order. */
  async files(): Promise<readonly SentAttachment[]> {
    this.#files ??= await this.#persist(() => this.#store.files(this.#turn.turnId));
    return this.#files;
  }

  /** The outcome of a call, the files that it sends, and its transcript row, whose `step` is that of the reply that asked for it. */
  async result(
    n: number,
    replyStep: number,
    call: ToolCall,
    state: "done" | "failed" | "unknown",
    result: ToolResult,
    sent: readonly SentFile[] = [],
  ): Promise<void> {
    await this.#fenced(async (tx) => {
      await this.#store.steps.recordResult(tx, this.#turn, n, state, result);
      if (sent.length > 0) await this.#store.sendFiles(tx, this.#turn, n, sent);
      return this.#write(tx, [
        {
          role: "assistant",
          content: "",
          toolName: call.name,
          toolArgs: call.arguments,
          toolResult: result.content,
          payload: { toolResult: result.content },
          key: turnKey(this.#turn.turnId, n),
          cap: false,
          metadata: {
            turn_id: this.#turn.turnId,
            step: replyStep,
            // Calls that ran side by side are stored as they end; this is the order in which they were asked for.
            position: n,
            tool_call_id: call.id,
            ...(result.isError === true ? { is_error: true } : {}),
            ...(state === "unknown" ? { outcome: "unknown" } : {}),
            ...(sent.length > 0 ? { attachments: sent.map(({ ref }) => ref) } : {}),
          },
        },
      ]);
    });
    if (this.#files) this.#files = [...this.#files, ...sent.map(sentAttachment)];
  }

  async steer(n: number, steer: Steer): Promise<void> {
    await this.#fenced(async (tx) => {
      await this.#store.steps.recordSteer(tx, this.#turn, n, steer);
      return this.#write(tx, [
        {
          role: "system",
          content: steer.text,
          key: turnKey(this.#turn.turnId, n),
          cap: false,
          metadata: { turn_id: this.#turn.turnId, steer: true },
        },
      ]);
    });
  }

  /** Ends the turn with the text that is still unwritten (of the last reply, or of one that was cut short). False: a steer waits. */
  async finish(
    end: TurnEnd,
    last: { readonly n: number; readonly text: string; readonly model?: string; readonly cut: boolean },
  ): Promise<boolean> {
    let pending: PendingReport | null = null;
    const ended = await this.#persist(() =>
      this.#store.finish(this.#turn, end, this.#uncounted, async (tx) => {
        if (last.text === "" || this.#conversationId === undefined) return;
        pending = await this.#write(tx, [this.#textEntry(last.n, last.text, last.model, last.cut)]);
      }),
    );
    if (!ended) return false;
    this.#uncounted = [];
    (pending as PendingReport | null)?.afterCommit();
    return true;
  }

  /** Puts a message of the turn into the outbox; the key is its own within the turn. */
  deliver(key: string, text: string): Promise<void> {
    return this.#persist(() => this.#store.deliver(this.#turn, key, text));
  }

  /** `text`: the turn's so far. */
  wait(calls: readonly WaitingCall[], text: string): Promise<OpenQuestion | null> {
    return this.#persist(() => this.#store.waiting.begin(this.#turn, calls, text));
  }

  /** See StepStore. */
  note(n: number, ordinal: number, text: string): Promise<void> {
    return this.#persist(() => this.#store.steps.note(this.#turn, n, ordinal, text));
  }

  /** See TurnWaiting. */
  limits(): ReturnType<TurnStore["waiting"]["limits"]> {
    return this.#persist(() => this.#store.waiting.limits(this.#turn));
  }

  /** The turn and those that wait for it, its own first. */
  delegationChain(): Promise<readonly ChainLink[]> {
    return this.#persist(() => this.#store.waiting.chain(this.#turn));
  }

  async checkpoint(): Promise<void> {
    await this.#persist(() => this.#store.checkpoint(this.#turn, this.#uncounted));
    this.#uncounted = [];
  }

  #textEntry(n: number, text: string, model?: string, cut = false): WriteEntry {
    return {
      role: "assistant",
      content: text,
      key: turnKey(this.#turn.turnId, n),
      cap: false,
      metadata: {
        turn_id: this.#turn.turnId,
        step: n,
        ...(model ? { model } : {}),
        ...(cut ? { interrupted: true } : {}),
      },
    };
  }

  #write(tx: Transaction, entries: readonly WriteEntry[]): Promise<PendingReport> {
    const { sessionKey, agent, channel, conversation, user, owner } = this.#turn;
    return this.#writer.writeIn(tx, {
      sessionKey,
      agent,
      channel,
      channelId: conversation,
      user,
      openedBy: "turn",
      byOwner: owner,
      conversationId: this.#conversationId,
      entries,
    });
  }

  async #fenced<T extends PendingReport | null>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const report = await this.#persist(() => this.#store.fenced(this.#turn, work));
    report?.afterCommit();
    return report;
  }

  async #persist<T>(write: () => Promise<T>): Promise<T> {
    for (let waitMs = 50; ; waitMs = Math.min(waitMs * 2, 1_000)) {
      if (this.#lease.aborted) throw this.#lease.reason;
      try {
        return await write();
      } catch (error) {
        const unavailable = error instanceof CairnError && error.retryable && error.code.startsWith("MEMORY_");
        if (!unavailable) throw error;
        // Ends the wait early when the lease is lost; the check above then throws its reason.
        await sleep(waitMs, undefined, { signal: this.#lease }).catch(() => undefined);
      }
    }
  }
}
