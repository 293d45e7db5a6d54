/**
 * Receiving from platforms that give the messages of an account to one receiver alone: of the nodes that share the database one has the
 * account's lease, receives, connects anew where that fails, and gives the lease back when it is drained.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { ChannelState, Receiver, ReceptionPosition } from "../contracts/channel.ts";
import { CairnError, RuntimeError } from "../contracts/errors.ts";
import type { Clock, Logger } from "../contracts/ports.ts";
import type { LeaseTable } from "./leases.ts";
import { type FailedAttempts, type Reconnect, Reconnection } from "./reconnection.ts";

/** What one channel receives with. */
export interface ReceivingChannel {
  /** As in `channels.<id>`. */
  readonly id: string;
  readonly platform: string;
  readonly receiver: Receiver;
  readonly reconnect: Reconnect;
}

export interface Receivers {
  start(): void;
  /** Ends receiving here and lets other nodes begin. Resolves when that is done, or has not come to its end within 5 seconds. */
  handOver(): Promise<void>;
  /** Receives again, as soon as no other node does. */
  takeBack(): void;
  /** An account may have become free. */
  retryNow(): void;
  /** Of channels that have a receiver; undefined: of no such channel. */
  state(channel: string): ChannelState | undefined;
  /** Milliseconds for which it has been connected here without a break; 0: it is not. */
  connectedMs(channel: string): number;
  /** RUNTIME_STOP_TIMEOUT where a channel goes on receiving: the process has to end, and its lease runs out after that. */
  stop(): Promise<void>;
  /** Rejects when a channel goes on receiving for an account that is another node's by now; pending else. */
  readonly unfit: Promise<never>;
}

export interface ReceiversDeps {
  readonly channels: readonly ReceivingChannel[];
  readonly leases: Pick<LeaseTable, "acquire" | "release" | "read" | "note">;
  readonly node: { readonly name: string };
  /** One start of the process. */
  readonly boot: string;
  /** Where at most one process of this node can be alive. */
  readonly place: string;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Tells the other nodes that leases are free. */
  announceRelease(): Promise<void>;
  /** A channel is connected that was not. */
  onConnected(channel: string): void;
}

/** Of a timer. */
const MOST_PAUSE_MS = 2 ** 31 - 1;
/** Milliseconds for a channel to stop receiving. */
const PATIENCE_MS = 5_000;

export function createReceivers(deps: ReceiversDeps): Receivers {
  const unfit = Promise.withResolvers<never>();
  unfit.promise.catch(() => undefined);
  const receivers = new Map(
    deps.channels.map((channel) => [channel.id, new ChannelReceiver(channel, deps, (error) => unfit.reject(error))]),
  );
  const all = [...receivers.values()];
  let started = false;
  const handOver = async (): Promise<void> => {
    await Promise.all(all.map((receiver) => receiver.end()));
  };
  return {
    start() {
      started = true;
      for (const receiver of all) receiver.begin();
    },
    handOver,
    takeBack() {
      if (started) for (const receiver of all) receiver.begin();
    },
    retryNow() {
      for (const receiver of all) receiver.retry();
    },
    state: (channel) => receivers.get(channel)?.state,
    connectedMs: (channel) => receivers.get(channel)?.connectedMs ?? 0,
    async stop() {
      started = false;
      await handOver();
      const going = [...receivers].flatMap(([id, { isReceiving }]) => (isReceiving ? [id] : []));
      if (going.length > 0) throw notStopped(going);
    },
    unfit: unfit.promise,
  };
}

class ChannelReceiver {
  state: ChannelState = { state: "connecting", reason: "the node is starting" };
  readonly #channel: ReceivingChannel;
  readonly #deps: ReceiversDeps;
  readonly #onOverlap: (error: RuntimeError) => void;
  readonly #lease: string;
  readonly #position: ReceptionPosition;
  #ending = AbortSignal.abort();
  #end: () => void = () => undefined;
  /** One after the other: nothing is received anew before what was received before has come to its end. */
  #work: Promise<void> = Promise.resolve();
  /** Whether `receive` has not come to its end. */
  #isReceiving = false;
  /** By the monotonic clock; null: it is not connected. */
  #connectedAt: number | null = null;
  /** Asks for the lease again at once; kept where no wait is under way. */
  #due = false;
  #wake: () => void = () => undefined;

  constructor(channel: ReceivingChannel, deps: ReceiversDeps, onOverlap: (error: RuntimeError) => void) {
    this.#channel = channel;
    this.#deps = deps;
    this.#onOverlap = onOverlap;
    this.#lease = `channel:${channel.platform}:${channel.receiver.account}`;
    const { leases, boot } = deps;
    this.#position = {
      read: async () => (await leases.read(this.#lease))?.["position"],
      keep: async (position) => {
        if (!(await leases.note(this.#lease, boot, { position }))) throw leaseLost();
      },
    };
  }

  get isReceiving(): boolean {
    return this.#isReceiving;
  }

  get connectedMs(): number {
    return this.#connectedAt === null ? 0 : this.#deps.clock.monotonic() - this.#connectedAt;
  }

  begin(): void {
    if (!this.#ending.aborted) return;
    const controller = new AbortController();
    this.#ending = controller.signal;
    this.#end = () => controller.abort();
    this.#work = this.#work.then(() => this.#untilEnded(controller.signal));
  }

  retry(): void {
    this.#due = true;
    this.#wake();
  }

  async end(): Promise<void> {
    this.#end();
    const late = new AbortController();
    const patience = sleep(PATIENCE_MS, true, { signal: late.signal }).catch(() => false);
    const isLate = await Promise.race([this.#work.then(() => false), patience]);
    late.abort();
    // Where the lease alone is still being given back, the database is slow, and nothing is received.
    if (!isLate || !this.#isReceiving) return;
    this.state = { state: "degraded", reason: "it goes on receiving though it was told to stop" };
    this.#deps.logger.error({ channel: this.#channel.id }, "a channel goes on receiving though it was told to stop");
  }

  async #untilEnded(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (!(await this.#whileItIsOurs(signal))) await this.#awaitTurn(signal);
      } catch (error) {
        this.state = { state: "connecting", reason: "the lease of its account could not be asked for" };
        this.#deps.logger.warn({ err: error, channel: this.#channel.id }, "the lease of an account could not be taken");
        await this.#awaitTurn(signal);
      }
    }
    this.state = { state: "standby", reason: "the node is draining" };
  }

  /** Until it may be this node's turn. */
  async #awaitTurn(signal: AbortSignal): Promise<void> {
    if (this.#due) return;
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await sleep(this.#deps.leaseMs / 4, undefined, { signal: AbortSignal.any([signal, woken.signal]) }).catch(
      () => undefined,
    );
  }

  /** False: another node has the account. Resolves when nothing is received any more. */
  async #whileItIsOurs(signal: AbortSignal): Promise<boolean> {
    const { leases, boot, node, announceRelease } = this.#deps;
    this.#due = false;
    const asked = this.#deps.clock.monotonic();
    if ((await this.#acquire()) === null) {
      const holder = (await leases.read(this.#lease))?.["node"];
      this.state = { state: "standby", reason: `${typeof holder === "string" ? holder : "another node"} receives` };
      return false;
    }
    // For the others' `reason`.
    await leases.note(this.#lease, boot, { node: node.name }).catch(() => undefined);
    const kept = this.#keep(asked);
    try {
      await this.#receive(AbortSignal.any([signal, kept.lost]));
    } finally {
      await kept.stop();
      await leases.release(this.#lease, boot).catch(() => undefined);
      // Unheard, others find it when they ask next.
      await announceRelease().catch(() => undefined);
    }
    return !kept.lost.aborted;
  }

  #acquire(): Promise<number | null> {
    const { leases, boot, leaseMs, place } = this.#deps;
    return leases.acquire(this.#lease, boot, leaseMs, place);
  }

  /**
   * Renews the lease four times while it lasts. A sixth of it is kept back: what receives has ended before another node may begin, or
   * this process must.
   */
  #keep(asked: number): { readonly lost: AbortSignal; stop(): Promise<void> } {
    const { leaseMs, clock, logger } = this.#deps;
    const { id } = this.#channel;
    const graceMs = leaseMs / 6;
    const lost = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const lose = (): void => {
      if (lost.signal.aborted) return;
      logger.warn({ channel: id }, "the lease of an account could not be kept: another node receives from now on");
      this.state = { state: "connecting", reason: "the lease of its account could not be kept" };
      lost.abort(leaseLost());
      clearTimeout(timer);
      timer = setTimeout(() => this.#isReceiving && this.#onOverlap(overlapping(id)), graceMs);
    };
    const lastsFrom = (from: number): void => {
      clearTimeout(timer);
      timer = setTimeout(lose, from + leaseMs - graceMs - clock.monotonic());
    };
    lastsFrom(asked);
    let renewal: Promise<void> | null = null;
    const renew = async (): Promise<void> => {
      const from = clock.monotonic();
      try {
        const epoch = await this.#acquire();
        if (lost.signal.aborted) return;
        if (epoch === null) lose();
        else lastsFrom(from);
      } catch (err) {
        logger.warn({ err, channel: id }, "the lease of an account could not be renewed");
      }
    };
    const renewing = setInterval(() => {
      renewal ??= renew().finally(() => {
        renewal = null;
      });
    }, leaseMs / 4);
    return {
      lost: lost.signal,
      async stop() {
        clearInterval(renewing);
        clearTimeout(timer);
        // One that is under way would take again what is given back.
        await renewal;
      },
    };
  }

  async #receive(signal: AbortSignal): Promise<void> {
    const { id, receiver, reconnect } = this.#channel;
    const reconnection = new Reconnection(reconnect);
    this.state = { state: "connecting", reason: "it connects" };
    while (!signal.aborted) {
      this.#isReceiving = true;
      const error = await receiver
        .receive({
          signal,
          position: this.#position,
          connected: (reason) => {
            if (signal.aborted) return;
            reconnection.connected();
            this.state = reason === undefined ? { state: "up", reason: null } : { state: "degraded", reason };
            if (this.#connectedAt !== null) return;
            this.#connectedAt = this.#deps.clock.monotonic();
            this.#deps.onConnected(id);
          },
        })
        .catch((reason: unknown) => reason);
      this.#isReceiving = false;
      this.#connectedAt = null;
      if (signal.aborted) return;
      // The platform has answered.
      if (isOverlap(error)) reconnection.connected();
      const attempts = reconnection.failed();
      this.#noteFailure(error, attempts);
      // As long as the platform asks for, where that is longer.
      const askedS = error instanceof CairnError ? (error.details.retryAfterS ?? 0) : 0;
      const pauseMs = Math.min(Math.max(attempts.pauseMs, askedS * 1_000), MOST_PAUSE_MS);
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #noteFailure(error: unknown, { count: failures, isDown }: FailedAttempts): void {
    const { logger } = this.#deps;
    const { id: channel } = this.#channel;
    const reason = error instanceof Error ? error.message : "the connection has ended";
    // A node that stood still for longer than its lease receives until it notices, another program until it ends: what is sent goes out.
    if (isOverlap(error)) {
      if (this.state.state !== "degraded" || this.state.reason !== reason) {
        logger.info({ channel, reason }, "another program still receives for the account of a channel");
      }
      this.state = { state: "degraded", reason };
      return;
    }
    this.state = { state: isDown ? "down" : "connecting", reason };
    const cause = error instanceof CairnError ? { reason } : { err: error };
    logger.warn({ channel, failures, ...cause }, "a channel has lost its connection");
  }
}

function isOverlap(error: unknown): boolean {
  return error instanceof CairnError && error.details.overlap === true;
}

function leaseLost(): RuntimeError {
  return new RuntimeError("RUNTIME_LEASE_LOST", "Another node receives for the account.");
}

function notStopped(channels: readonly string[]): RuntimeError {
  return new RuntimeError(
    "RUNTIME_STOP_TIMEOUT",
    `Told to stop, these channels go on receiving: ${channels.join(", ")}.`,
  );
}

function overlapping(channel: string): RuntimeError {
  return new RuntimeError(
    "RUNTIME_LEASE_LOST",
    `The channel ${channel} goes on receiving for an account that may be another node's by now.`,
    { hint: "The node ends, so that no message is received twice; it is to be started again." },
  );
}
