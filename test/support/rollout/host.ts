/** A simulated node: a host that keeps the newest fencing token, and the program on it, with the turns that it runs. */

import type { FencingToken, NodeObservation } from "../../../control/rollout/contracts.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { Inbox, Turn } from "./inbox.ts";
import type { World } from "./world.ts";

/** Milliseconds: not ready before anything closes; for active turns; and then until the watchdog ends the program. */
const UNREADY_MS = 5_000;
const DEADLINE_MS = 60_000;
const WATCHDOG_MS = 10_000;
/** Milliseconds that may lie between the last look at a node and what the journal says of it. */
const MOMENT_MS = 3_000;

export interface Process {
  readonly host: Host;
  readonly image: string;
  readonly instance: string;
  readonly turns: Set<Turn>;
  ready: boolean;
  draining: boolean;
  polling: boolean;
  dead: boolean;
  /** When it became ready. */
  readyAt: number;
}

/** What is checked at each swap that really happens: whether the journal had the intent. */
export type OnSwap = (host: string, image: string) => void;

export class Host {
  readonly #world: World;
  readonly #onSwap: OnSwap;
  readonly name: string;
  readonly #place: number;
  image: string | null = "v1";
  process: Process | null = null;
  /** Whether a command took it out of service while it served, and it is not back since. */
  taken = false;
  ignoresAbort = false;
  isCutOff = false;
  inbox: Inbox | null = null;
  /** The newest token that it keeps, and the newest that it obeyed. */
  #seen: FencingToken = { fleet: "", lease: 0, command: 0 };
  #obeyed: FencingToken = { fleet: "", lease: 0, command: 0 };
  #drainedUntil = 0;
  #starts = 0;
  #steadyMs = 0;
  #crashedAt = Number.NEGATIVE_INFINITY;
  #servedAt = 0;
  #lock: Promise<void> = Promise.resolve();

  constructor(world: World, place: number, onSwap: OnSwap) {
    this.#world = world;
    this.#onSwap = onSwap;
    this.#place = place;
    this.name = `n${place + 1}`;
    this.ignoresAbort = this.#has("poller-ignores-abort");
    this.process = this.#program("v1", true);
    for (const { at, image } of world.faults("changed-by-hand").filter(({ node }) => node === place)) {
      world.clock.after(at, () => this.#changeByHand(image));
    }
    for (const { at } of world.faults("dies").filter(({ node }) => node === place)) {
      world.clock.after(at, () => {
        world.met.add("dies");
        this.crash("it dies");
      });
    }
  }

  /** Beside all commands; its turns are interrupted once their claims expire. */
  #changeByHand(image: string): void {
    this.#world.log(`${this.name} gets ${image} by hand`);
    if (this.process !== null) this.#end(this.process);
    this.image = image;
    this.process = this.#program(image, false);
  }

  get inService(): boolean {
    return this.process !== null && !this.process.dead && this.process.ready && !this.process.draining;
  }

  get serving(): boolean {
    return this.inService && !this.isCutOff;
  }

  /** Milliseconds that it has been ready; what ended in the last moment counts as long as it ran. */
  get steadyMs(): number {
    const { time } = this.#world.clock;
    return Math.max(time - this.#crashedAt < MOMENT_MS ? this.#steadyMs : 0, time - (this.process?.readyAt ?? time));
  }

  /** Milliseconds that it has not been serving. */
  get downMs(): number {
    return this.serving ? 0 : this.#world.clock.time - this.#servedAt;
  }

  observe(): NodeObservation {
    const { process } = this;
    const version = process !== null && !process.dead ? process.image : null;
    return { image: this.image, version, ready: this.serving, instance: process?.instance ?? "" };
  }

  fence(token: FencingToken, checked: boolean): Promise<void> {
    return this.#withLock(async () => {
      this.#obey(token, checked, "fence");
    });
  }

  async drain(token: FencingToken, holdMs: number, checked: boolean): Promise<void> {
    const { clock } = this.#world;
    this.#obey(token, checked, "drain");
    this.#drainedUntil = clock.time + holdMs;
    if (this.process !== null && !this.process.dead && !this.process.draining) this.#beginDrain(this.process);
    const until = this.#drainedUntil;
    clock.after(holdMs, () => {
      if (this.#drainedUntil !== until || this.process === null) return;
      this.#world.log(`${this.name} serves again by itself`);
      this.process.draining = false;
    });
    for (;;) {
      const { process } = this;
      if (process === null || process.dead || (process.turns.size === 0 && !process.polling)) return;
      await clock.sleep(1_000);
    }
  }

  async swap(image: string, token: FencingToken, checked: boolean): Promise<void> {
    const { clock, random } = this.#world;
    this.#obey(token, checked, `swap to ${image}`);
    await this.#pull(image);
    await this.#withLock(async () => {
      // It may have waited for its image, or for another command.
      this.#obey(token, checked, `swap to ${image}`);
      if (this.image === image && this.process !== null && !this.process.draining) return;
      this.#onSwap(this.name, image);
      this.#stop();
      await clock.sleep(random.between(1_000, 3_000));
      this.#drainedUntil = 0;
      this.image = image;
      this.process = this.#program(image, false);
      this.#world.log(`${this.name} starts ${image}`);
    });
  }

  /** The program ends; the supervisor starts it again. */
  crash(why: string): void {
    const { process } = this;
    if (process === null || process.dead) return;
    this.#world.log(`${this.name}: ${why}`);
    this.#steadyMs = this.steadyMs;
    this.#crashedAt = this.#world.clock.time;
    this.#end(process);
    const { clock, random } = this.#world;
    clock.after(random.between(3_000, 8_000), () => {
      if (this.process !== process) return;
      this.process = this.#program(process.image, false);
      this.process.draining = this.#drainedUntil > clock.time;
    });
  }

  /** After each event. */
  update(): void {
    if (this.inService) this.taken = false;
    if (this.serving) this.#servedAt = this.#world.clock.time;
  }

  #obey(token: FencingToken, checked: boolean, what: string): void {
    const said = `${this.name}: ${what} with ${token.lease}.${token.command}`;
    if (checked && isOlder(token, this.#seen)) {
      this.#world.log(`${said} is refused`);
      throw new InfraError("INFRA_LOCKED", `${this.name} has a newer command.`);
    }
    this.#world.log(said);
    if (isOlder(token, this.#obeyed)) this.#world.violate(`${said} is carried out after a newer command`);
    if (!isOlder(token, this.#seen)) this.#seen = token;
    if (!isOlder(token, this.#obeyed)) this.#obeyed = token;
  }

  async #pull(image: string): Promise<void> {
    const { clock, random, met } = this.#world;
    if (image === this.image) return;
    const missing = image === "v2" ? "image-missing" : image === "v1" ? "rollback-image-missing" : null;
    if (missing !== null && this.#has(missing)) {
      met.add(missing);
      throw new InfraError("INFRA_IMAGE_MISSING", `${this.name} cannot pull ${image}.`);
    }
    const [slow] = this.#world.faults("slow-pull").filter(({ node }) => node === this.#place);
    if (slow !== undefined) met.add("slow-pull");
    await clock.sleep(slow?.ms ?? random.between(500, 5_000));
  }

  #beginDrain(process: Process): void {
    const { clock, met } = this.#world;
    if (this.serving) this.taken = true;
    process.draining = true;
    const alive = (): boolean => process.draining && !process.dead;
    clock.after(UNREADY_MS, () => {
      if (!alive()) return;
      if (process.polling && this.ignoresAbort) met.add("poller-ignores-abort");
      else this.inbox?.stopPolling(process);
    });
    clock.after(DEADLINE_MS, () => {
      if (!alive()) return;
      for (const turn of [...process.turns]) {
        if (!this.isCutOff) this.inbox?.interrupt(turn, "it ran into the deadline of its node's drain");
        else this.inbox?.abandon(turn);
      }
    });
    clock.after(DEADLINE_MS + WATCHDOG_MS, () => {
      if (alive() && process.polling) this.crash("its watchdog ends it");
    });
    for (const { ms } of this.#world.faults("dies-draining").filter(({ node }) => node === this.#place)) {
      clock.after(ms, () => {
        if (!alive()) return;
        met.add("dies-draining");
        this.crash("it dies while it drains");
      });
    }
  }

  #stop(): void {
    const { process } = this;
    if (process === null || process.dead) return;
    if (this.serving) this.taken = true;
    const [turn] = process.turns;
    if (turn !== undefined) this.#world.violate(`${this.name} was stopped with turn ${turn.id} active`);
    this.#end(process);
  }

  #end(process: Process): void {
    process.dead = true;
    process.ready = false;
    process.polling = false;
  }

  #program(image: string, ready: boolean): Process {
    const { clock, random, met } = this.#world;
    this.#starts++;
    const instance = `${this.name}.${this.#starts}`;
    const process: Process = {
      ...{ host: this, image, instance, turns: new Set<Turn>() },
      ...{ ready, draining: false, polling: false, dead: false, readyAt: clock.time },
    };
    const bad = image === "v2";
    if (ready) return process;
    if (bad && this.#has("never-ready")) {
      met.add("never-ready");
      return process;
    }
    clock.after(random.between(2_000, 8_000), () => {
      if (process.dead) return;
      process.ready = true;
      process.readyAt = clock.time;
      for (const [kind, ms] of [
        ["crash-loop", 20_000],
        ["late-crash", 50_000],
      ] as const) {
        if (!bad || !this.#has(kind)) continue;
        clock.after(ms, () => {
          if (process.dead) return;
          met.add(kind);
          this.crash("its new program crashes");
        });
      }
    });
    return process;
  }

  #has(
    kind:
      | "image-missing"
      | "never-ready"
      | "crash-loop"
      | "late-crash"
      | "rollback-image-missing"
      | "poller-ignores-abort",
  ): boolean {
    return this.#world.schedule.faults.some((one) => one.kind === kind && one.node === this.#place);
  }

  async #withLock(work: () => Promise<void>): Promise<void> {
    const done = this.#lock.then(work);
    this.#lock = done.catch(() => undefined);
    return done;
  }
}

function isOlder(token: FencingToken, than: FencingToken): boolean {
  return token.lease === than.lease ? token.command < than.command : token.lease < than.lease;
}
