/** The fleet's messages and its one channel, as its database has them: claims that expire, each turn with exactly one end. */

import type { Host, Process } from "./host.ts";
import type { World } from "./world.ts";

/** Milliseconds: claims of turns and of the channel; how often they are looked at; between two messages. */
export const CLAIM_MS = 30_000;
const TICK_MS = 5_000;
const MESSAGE_MS = 8_000;
/** Milliseconds without a renewal after which a node stops polling, and after which it ends itself where that fails. */
const STOP_POLLING_MS = 15_000;
const WATCHDOG_MS = 22_000;

export interface Turn {
  readonly id: number;
  ms: number;
  /** Still has to wait for an answer. */
  waits: boolean;
  state: "queued" | "running" | "waiting" | "ended";
  process: Process | null;
  claimedUntil: number;
  ends: number;
}

export class Inbox {
  readonly #world: World;
  readonly #hosts: readonly Host[];
  readonly turns: Turn[] = [];
  readonly #open = new Set<Turn>();
  /** Who may poll the channel. */
  #poller: { readonly process: Process; until: number } | null = null;
  #isOpen = true;

  constructor(world: World, hosts: readonly Host[]) {
    this.#world = world;
    this.#hosts = hosts;
    const { clock, random } = world;
    const message = (): void => {
      if (!this.#isOpen) return;
      this.accept(random.between(2_000, 30_000), false);
      clock.after(random.between(1_000, 2 * MESSAGE_MS), message);
    };
    message();
    for (const { at, ms } of world.faults("long-turn")) clock.after(at, () => this.#met("long-turn", ms, false));
    for (const { at, ms } of world.faults("waiting-turn")) clock.after(at, () => this.#met("waiting-turn", ms, true));
    const tick = (): void => {
      this.#tick();
      clock.after(TICK_MS, tick);
    };
    tick();
  }

  /** No more messages come. */
  close(): void {
    this.#isOpen = false;
  }

  accept(ms: number, waits: boolean): void {
    if (!this.#hosts.some((host) => host.serving)) return;
    const turn: Turn = { id: this.turns.length, ms, waits, state: "queued", process: null, claimedUntil: 0, ends: 0 };
    this.turns.push(turn);
    this.#open.add(turn);
    this.#claim(turn);
  }

  /** The turn has its reply, or its interruption that the user sees. Refused where it has an end. */
  interrupt(turn: Turn, why: string): void {
    this.#world.log(`turn ${turn.id} is interrupted: ${why}`);
    this.#end(turn);
  }

  /** Its node has stopped it and cannot say so: its claim expires. */
  abandon(turn: Turn): void {
    this.#leave(turn);
  }

  stopPolling(process: Process): void {
    process.polling = false;
    if (this.#poller?.process === process) this.#poller = null;
  }

  /** Once all is over. */
  checkEnds(): void {
    for (const turn of this.turns) {
      if (turn.ends !== 1) this.#world.violate(`turn ${turn.id} has ${turn.ends} ends (${turn.state})`);
    }
  }

  #met(kind: string, ms: number, waits: boolean): void {
    this.#world.met.add(kind);
    this.accept(waits ? 5_000 : ms, waits);
  }

  #claim(turn: Turn): void {
    const { clock, random } = this.#world;
    const serving = this.#hosts.flatMap(({ serving, process }) => (serving && process !== null ? [process] : []));
    if (serving.length === 0) return;
    const process = random.of(serving);
    turn.state = "running";
    turn.process = process;
    turn.claimedUntil = clock.time + CLAIM_MS;
    process.turns.add(turn);
    clock.after(turn.ms, () => this.#finish(turn, process));
  }

  #finish(turn: Turn, process: Process): void {
    const { clock, random } = this.#world;
    if (turn.process !== process || turn.state !== "running" || process.dead) return;
    if (process.host.isCutOff) {
      clock.after(1_000, () => this.#finish(turn, process));
      return;
    }
    if (!turn.waits) {
      this.#end(turn);
      return;
    }
    this.#leave(turn);
    turn.waits = false;
    turn.state = "waiting";
    clock.after(random.between(1_000, 300_000), () => {
      turn.state = "queued";
      this.#claim(turn);
    });
  }

  #end(turn: Turn): void {
    turn.ends++;
    if (turn.ends > 1) this.#world.violate(`turn ${turn.id} has a second end`);
    this.#leave(turn);
    turn.state = "ended";
    this.#open.delete(turn);
  }

  #leave(turn: Turn): void {
    turn.process?.turns.delete(turn);
    turn.process = null;
  }

  #tick(): void {
    const { clock } = this.#world;
    for (const turn of this.#open) {
      if (turn.state === "queued") this.#claim(turn);
      else if (turn.state === "running") {
        const alive = turn.process !== null && !turn.process.dead && !turn.process.host.isCutOff;
        if (alive) turn.claimedUntil = clock.time + CLAIM_MS;
        else if (turn.claimedUntil < clock.time) this.interrupt(turn, "its claim expired");
      }
    }
    this.#tickPoller();
  }

  #tickPoller(): void {
    const { clock } = this.#world;
    const holder = this.#poller;
    if (holder !== null && !holder.process.dead && holder.process.polling) {
      const sinceMs = clock.time - (holder.until - CLAIM_MS);
      if (!holder.process.host.isCutOff) holder.until = clock.time + CLAIM_MS;
      else if (sinceMs >= STOP_POLLING_MS && !holder.process.host.ignoresAbort) holder.process.polling = false;
      else if (sinceMs >= WATCHDOG_MS) holder.process.host.crash("its watchdog ends it");
    }
    if (holder !== null && holder.until > clock.time) return;
    const next = this.#hosts.find(({ serving }) => serving)?.process ?? null;
    this.#poller = next === null ? null : { process: next, until: clock.time + CLAIM_MS };
    if (next !== null) next.polling = true;
  }
}
