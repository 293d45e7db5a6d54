/** Claims turns and runs them: one at a time within a session, many side by side, each under a lease that is kept alive. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../contracts/database.ts";
import { RuntimeError } from "../../contracts/errors.ts";
import type { Clock, Logger } from "../../contracts/ports.ts";
import type { TurnLimits } from "./agents.ts";
import type { Placement } from "./placement.ts";
import type { ClaimRoom } from "./queue-order.ts";
import type { StreamHub } from "./stream-hub.ts";
import { stopped } from "./turn-end.ts";
import { leaseLost, TURN_CHANNEL } from "./turn-fence.ts";
import type { ClaimedTurn } from "./turn-rows.ts";
import type { TurnRunner } from "./turn-runner.ts";
import type { TurnStore } from "./turn-store.ts";

export interface DispatcherDeps {
  readonly database: Database;
  readonly store: TurnStore;
  readonly placement: Placement;
  readonly run: TurnRunner;
  readonly hub: StreamHub;
  readonly limits: TurnLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Leases of another node are free. */
  onReleased(): void;
}

interface ActiveTurn {
  readonly turn: ClaimedTurn;
  readonly abort: AbortController;
  readonly lease: AbortController;
  /** Monotonic time at which this runner stops of itself, before another may claim. */
  leaseEndsAt: number;
  readonly done: Promise<void>;
}

/** A safety net under the wake-ups, and the pace at which turns of dead runners are found. */
const POLL_MS = 2_000;

export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #active = new Map<string, ActiveTurn>();
  #timers: NodeJS.Timeout[] = [];
  #unlisten: (() => Promise<void>) | null = null;
  #pumping: Promise<void> | null = null;
  #expiring: Promise<void> | null = null;
  #again = false;
  #accepting = false;
  #started = false;
  /** Ends the wait of a drain before its deadline: nothing is aborted then. */
  #calledOff = new AbortController();

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    this.#unlisten = await this.#deps.database.listen(TURN_CHANNEL, (payload) => {
      if (payload === "released") this.#deps.onReleased();
      if (payload.startsWith("abort:")) void this.abortTurn(payload.slice("abort:".length));
      // Also then: a turn that waits is woken to be aborted.
      this.kick();
    });
    this.#started = true;
    this.#accepting = true;
    this.#timers = [
      setInterval(() => this.#poll(), POLL_MS),
      setInterval(() => void this.#renewLeases(), Math.max(50, this.#deps.limits.leaseMs / 6)),
    ];
    this.#poll();
  }

  /** Claims now instead of at the next poll: a turn may have become claimable. */
  kick(): void {
    if (!this.#accepting) return;
    if (this.#pumping) {
      this.#again = true;
      return;
    }
    this.#pumping = this.#pump().finally(() => {
      this.#pumping = null;
      if (this.#again) {
        this.#again = false;
        this.kick();
      }
    });
  }

  /** Resolves when the turns that could be claimed when it was called are claimed, as far as there is room for them. */
  async claimed(): Promise<void> {
    // Twice: what was just kicked is claimed by the round behind the one that is under way.
    for (let round = 0; round < 2; round++) await this.#pumping;
  }

  get activeTurns(): number {
    return this.#active.size;
  }

  activeByAgent(agent: string): number {
    return [...this.#active.values()].filter((active) => active.turn.agent === agent).length;
  }

  /**
   * Aborts the session's turn on this node, other than `except`; its id when it has ended, null when none runs here. Where
   * none does yet, a claim on its way is waited for: it may bring the very turn that is meant.
   */
  async abortSession(sessionKey: string, except?: string): Promise<string | null> {
    return this.#abort(({ turn }) => turn.sessionKey === sessionKey && turn.turnId !== except);
  }

  /** The same for one turn. */
  async abortTurn(turnId: string): Promise<string | null> {
    return this.#abort(({ turn }) => turn.turnId === turnId);
  }

  async #abort(isMeant: (active: ActiveTurn) => boolean): Promise<string | null> {
    const find = () => [...this.#active.values()].find(isMeant);
    let active = find();
    // Twice: what was just kicked may be claimed by the round behind the one that is under way.
    for (let round = 0; !active && round < 2; round++) {
      await this.#pumping;
      active = find();
    }
    if (!active) return null;
    active.abort.abort(stopped());
    await active.done;
    return active.turn.turnId;
  }

  /** The turn of a session that runs on this node. */
  runningTurn(sessionKey: string): ClaimedTurn | null {
    return [...this.#active.values()].find((candidate) => candidate.turn.sessionKey === sessionKey)?.turn ?? null;
  }

  /**
   * Claims no more; active turns run to the deadline and are then checkpointed. Agents whose turns have ended go to other nodes.
   * Asked twice, the nearer deadline counts.
   */
  async drain(deadlineMs: number): Promise<void> {
    this.#accepting = false;
    if (this.#calledOff.signal.aborted) this.#calledOff = new AbortController();
    const calledOff = this.#calledOff.signal;
    await this.#pumping;
    if (calledOff.aborted) return;
    const ended = this.#ended(() => true);
    const handedOver = this.#deps.placement.handOver((agent) => this.#ended(({ turn }) => turn.agent === agent));
    const over = new AbortController();
    const signal = AbortSignal.any([calledOff, over.signal]);
    await Promise.race([ended, sleep(deadlineMs, undefined, { signal }).catch(() => undefined)]);
    over.abort();
    if (calledOff.aborted) return;
    for (const active of this.#active.values()) {
      active.abort.abort(
        new RuntimeError("RUNTIME_DRAINING", "The service is shutting down.", { turnId: active.turn.turnId }),
      );
    }
    await ended;
    await handedOver;
  }

  /** Resolves when these turns have ended; others that begin meanwhile do not count. */
  async #ended(isMeant: (active: ActiveTurn) => boolean): Promise<void> {
    await Promise.allSettled([...this.#active.values()].filter(isMeant).map(({ done }) => done));
  }

  /** Takes its agents back where they are free, and claims again; a drain that still waits aborts nothing any more. */
  resume(): void {
    if (!this.#started) return;
    this.#calledOff.abort();
    this.#accepting = true;
    this.#deps.placement.takeBack();
    this.kick();
  }

  async stop(): Promise<void> {
    this.#started = false;
    this.#accepting = false;
    for (const timer of this.#timers) clearInterval(timer);
    await this.#expiring;
    await this.#pumping;
    await this.#unlisten?.().catch(() => undefined);
  }

  /** Claims, also the turns whose questions have waited long enough. */
  #poll(): void {
    const agents = this.#deps.placement.hosted();
    if (!this.#accepting || agents.length === 0 || this.#expiring) return;
    this.#expiring = this.#deps.store.waiting
      .expire(agents)
      .catch((error: unknown) =>
        this.#deps.logger.warn({ err: error }, "expired questions of turns could not be closed"),
      )
      .finally(() => {
        this.#expiring = null;
        this.kick();
      });
  }

  async #pump(): Promise<void> {
    try {
      while (this.#accepting && this.#active.size < this.#deps.limits.maxActiveTurns) {
        const agents = this.#deps.placement.hosted();
        if (agents.length === 0) return;
        const room = this.#room();
        const claimedAt = this.#deps.clock.monotonic();
        const leased = [...this.#active].flatMap(([id, { leaseEndsAt }]) => (leaseEndsAt > claimedAt ? [id] : []));
        const turns = await this.#deps.store.claim(agents, room, leased);
        for (const turn of turns) this.#begin(turn, claimedAt);
        if (turns.length < room.turns) return;
      }
    } catch (error) {
      // The next poll tries again; /health shows that the database is unavailable.
      this.#deps.logger.warn({ err: error }, "turns could not be claimed");
    }
  }

  #room(): ClaimRoom {
    const { maxActiveTurns, maxTurnsOfOthers, maxTurnsOfOneUser } = this.#deps.limits;
    const active = [...this.#active.values()].flatMap(({ turn }) => (turn.owner ? [] : [turn]));
    return {
      turns: maxActiveTurns - this.#active.size,
      others: { turns: maxTurnsOfOthers, ofOneUser: maxTurnsOfOneUser, active },
    };
  }

  #begin(turn: ClaimedTurn, claimedAt: number): void {
    const { limits, run, hub, logger } = this.#deps;
    const abort = new AbortController();
    const lease = new AbortController();
    lease.signal.addEventListener("abort", () => abort.abort(lease.signal.reason), { once: true });
    const timeout = setTimeout(
      () =>
        abort.abort(
          new RuntimeError("RUNTIME_TURN_TIMEOUT", `The turn took longer than ${limits.turnTimeoutMs / 1000} s.`, {
            turnId: turn.turnId,
          }),
        ),
      limits.turnTimeoutMs,
    );
    // Claimed again by this very process, whose stall has let the lease expire: the former runner must end, too.
    this.#active.get(turn.turnId)?.lease.abort(leaseLost(turn));
    const done = run(turn, { abort: abort.signal, lease: lease.signal }, hub.open(turn.turnId, turn.attempt))
      .catch((error: unknown) => logger.error({ err: error, turnId: turn.turnId }, "a turn ended unexpectedly"))
      .finally(() => {
        clearTimeout(timeout);
        if (this.#active.get(turn.turnId) === active) this.#active.delete(turn.turnId);
        this.kick();
      });
    const active: ActiveTurn = { turn, abort, lease, leaseEndsAt: this.#leaseEnd(claimedAt), done };
    this.#active.set(turn.turnId, active);
  }

  /** A sixth of the lease is kept back, so that a runner has stopped before its lease has ended for the others. */
  #leaseEnd(from: number): number {
    return from + (this.#deps.limits.leaseMs * 5) / 6;
  }

  async #renewLeases(): Promise<void> {
    const { store, clock, logger } = this.#deps;
    this.#endOverdueLeases();
    // As they are now: an answer says nothing of a turn that is claimed again meanwhile.
    const asked = [...this.#active];
    if (asked.length === 0) return;
    const askedAt = clock.monotonic();
    try {
      const renewed = await store.renew(asked.map(([id]) => id));
      for (const [id, active] of asked) {
        const answer = renewed.get(id);
        if (answer?.epoch !== active.turn.epoch) active.lease.abort(leaseLost(active.turn));
        else {
          active.leaseEndsAt = this.#leaseEnd(askedAt);
          if (answer.abort) active.abort.abort(stopped());
        }
      }
    } catch (error) {
      logger.warn({ err: error }, "leases of turns could not be renewed");
    }
  }

  #endOverdueLeases(): void {
    const now = this.#deps.clock.monotonic();
    for (const active of this.#active.values()) {
      if (active.leaseEndsAt <= now) active.lease.abort(leaseLost(active.turn));
    }
  }
}
