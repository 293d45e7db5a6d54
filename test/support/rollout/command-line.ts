/** A simulated command line on a machine of its own: it can be killed, stand still, lose its way to a node or to the database. */

import type { FencingToken, NodeDriver, RolloutClock } from "../../../control/rollout/contracts.ts";
import { InfraError, RuntimeError } from "../../../runtime/contracts/errors.ts";
import type { Host } from "./host.ts";
import type { Fault } from "./schedule.ts";
import type { World } from "./world.ts";

/** Milliseconds: a connection that is not answered; the database; the gate, and how often it looks. */
const TIMEOUT_MS = 10_000;
const GATE_MS = 120_000;
const POLL_MS = 2_000;

export class CommandLine {
  readonly #world: World;
  readonly name: string;
  /** Of the operator's attempts, from 0; null: of another operator. */
  readonly #attempt: number | null;
  readonly #stop = new AbortController();
  readonly #kill = Promise.withResolvers<"killed">();
  readonly #skewMs: number;
  readonly #rate: number;
  #dead = false;
  #frozenUntil = 0;
  #commands = 0;
  #writes = 0;
  /** Called when the network keeps a command, and the node is not reached by others for a while. */
  onLate: (node: string) => void = () => undefined;
  /** Called when it issues a command. */
  onCommand: (node: string, what: "fence" | "drain" | "swap", token: FencingToken) => void = () => undefined;
  /** Called when it stands still. */
  onFrozen: (fault: Extract<Fault, { readonly kind: "frozen" }>) => void = () => undefined;

  constructor(world: World, name: string, attempt: number | null) {
    this.#world = world;
    this.name = name;
    this.#attempt = attempt;
    const skews = world.faults("clock-skew");
    if (skews.length > 0) world.met.add("clock-skew");
    this.#skewMs = skews.length > 0 ? world.random.of(skews).ms * world.random.between(0, 1) : 0;
    this.#rate = 0.99 + world.random.next() * 0.02;
    if (attempt !== 0) return;
    for (const { at } of world.faults("interrupted")) {
      world.clock.after(Math.max(at - world.clock.time, 0), () => {
        world.met.add("interrupted");
        this.#stop.abort(new InfraError("INFRA_INTERRUPTED", "Interrupted."));
      });
    }
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get killed(): Promise<"killed"> {
    return this.#kill.promise;
  }

  get clock(): RolloutClock {
    const { clock } = this.#world;
    return {
      now: () => new Date(Date.UTC(2030, 0, 1) + clock.time + this.#skewMs),
      monotonic: () => clock.time * this.#rate,
      sleep: async (ms, signal) => {
        await clock.sleep(ms / this.#rate, signal);
        await this.#awake();
      },
    };
  }

  /** Around a write of the journal: the moments at which it may be killed. */
  async writing(write: () => Promise<void>): Promise<void> {
    const number = this.#writes++;
    const kill = this.#world.faults("killed").find((one) => one.attempt === this.#attempt && one.write === number);
    if (kill?.written === false) await this.#die();
    await write();
    if (kill?.written === true) await this.#die();
  }

  async toDatabase<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const { clock, random, met } = this.#world;
    await this.#awake();
    const [cut] = this.#world.faults("command-without-database").filter(({ at, ms }) => this.#world.isDuring(at, ms));
    if (cut !== undefined && this.#attempt !== null) {
      met.add("command-without-database");
      await clock.sleep(TIMEOUT_MS, signal);
      await this.#awake();
      throw new Error("the database does not answer");
    }
    await clock.sleep(random.between(5, 50), signal);
    const result = await resultOf(work());
    await clock.sleep(random.between(5, 50), signal);
    await this.#awake();
    return result();
  }

  /** The driver of a node, as this machine reaches it. */
  driverOf(host: Host, isReachable: () => boolean): NodeDriver {
    const { mutant } = this.#world;
    const checked = mutant !== "fence";
    const observe: NodeDriver["observe"] = (signal) =>
      this.#call(host, isReachable, signal, async () => host.observe());
    const gate: NodeDriver["gate"] = async (image, signal) => {
      const { clock } = this;
      const began = clock.monotonic();
      for (;;) {
        const seen = await observe(signal);
        if (seen.ready && seen.image === image) return;
        if (clock.monotonic() - began >= GATE_MS) {
          throw new RuntimeError("RUNTIME_START_FAILED", `${host.name} is not ready with ${image}.`);
        }
        await clock.sleep(POLL_MS, signal);
      }
    };
    const command = (
      what: "fence" | "drain" | "swap",
      token: FencingToken,
      signal: AbortSignal,
      work: () => Promise<void>,
    ): Promise<void> => {
      this.onCommand(host.name, what, token);
      // Faults count what takes nodes out of service.
      if (what === "fence") return this.#call(host, isReachable, signal, work);
      return this.#command(host, isReachable, signal, work);
    };
    const real: NodeDriver = {
      name: host.name,
      observe,
      gate,
      fence: (token, signal) => command("fence", token, signal, () => host.fence(token, checked)),
      drain: (token, holdMs, signal) => command("drain", token, signal, () => host.drain(token, holdMs, checked)),
      swap: (image, token, signal) => command("swap", token, signal, () => host.swap(image, token, checked)),
    };
    return mutant === null ? real : crippled(real, mutant);
  }

  async #command(
    host: Host,
    isReachable: () => boolean,
    signal: AbortSignal,
    work: () => Promise<void>,
  ): Promise<void> {
    const { clock, met } = this.#world;
    const number = this.#attempt === 0 ? this.#commands++ : -1;
    const [frozen] = this.#world.faults("frozen").filter(({ command }) => command === number);
    if (frozen !== undefined) {
      met.add("frozen");
      this.#world.log(`${this.name} stands still for ${frozen.ms / 1_000} s`);
      this.#frozenUntil = clock.time + frozen.ms;
      this.onFrozen(frozen);
    }
    const [late] = this.#world.faults("late-command").filter(({ command }) => command === number);
    if (late === undefined) return this.#call(host, isReachable, signal, work);
    met.add("late-command");
    await this.#awake();
    this.#world.log(`${this.name}: a command to ${host.name} is late by ${late.ms / 1_000} s`);
    void clock.sleep(late.ms).then(() => resultOf(work()));
    if (late.sender === "killed") await this.#die();
    if (late.sender === "cut-off") this.onLate(host.name);
    await this.#silence(host, signal);
  }

  /** The host does what it was asked for also when nobody waits for it any more. */
  async #call<T>(host: Host, isReachable: () => boolean, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { clock, random } = this.#world;
    await this.#awake();
    await clock.sleep(random.between(10, 100));
    if (!isReachable()) return this.#silence(host, signal);
    const result = await Promise.race([resultOf(work()), aborted(signal)]);
    if (!isReachable()) return this.#silence(host, signal);
    await clock.sleep(random.between(10, 100));
    await this.#awake();
    return result();
  }

  async #silence(host: Host, signal: AbortSignal): Promise<never> {
    await this.#world.clock.sleep(TIMEOUT_MS, signal);
    await this.#awake();
    throw new InfraError("INFRA_HOST_UNREACHABLE", `${host.name} does not answer.`);
  }

  #die(): Promise<never> {
    this.#world.met.add("killed");
    this.#world.log(`${this.name} is killed`);
    this.#dead = true;
    this.#kill.resolve("killed");
    return new Promise(() => undefined);
  }

  async #awake(): Promise<void> {
    const { clock } = this.#world;
    if (this.#dead) return new Promise(() => undefined);
    while (this.#frozenUntil > clock.time) await clock.sleep(this.#frozenUntil - clock.time);
  }
}

/** A driver without a part of its safety. The fence's is taken out where the host compares. */
function crippled(driver: NodeDriver, mutant: string): NodeDriver {
  switch (mutant) {
    case "drain":
      return { ...driver, drain: async () => undefined };
    case "gate":
      return {
        ...driver,
        gate: async () => undefined,
        observe: async (signal) => ({ ...(await driver.observe(signal)), ready: true, instance: "always" }),
      };
    default:
      return driver;
  }
}

/** Its result, or its error, once it is asked for: what nobody waits for is no unhandled rejection. */
async function resultOf<T>(work: Promise<T>): Promise<() => T> {
  const [one] = await Promise.allSettled([work]);
  return () => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  if (signal.aborted) reject(signal.reason);
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}
