/** Plays one schedule: a fleet, its operators, and everything that must hold after each event. */

import type { RolloutEntry } from "../../../control/rollout/contracts.ts";
import { beginRollout, type RolloutPorts, resumeRollout } from "../../../control/rollout/rollout.ts";
import { CommandLine } from "./command-line.ts";
import { Database } from "./database.ts";
import { Host } from "./host.ts";
import { Inbox } from "./inbox.ts";
import type { Schedule } from "./schedule.ts";
import { type Mutant, type Violation, World } from "./world.ts";

/** Milliseconds: within which each operator is through, and in which the last turns end. */
const LIMIT_MS = 10 * 3_600_000;
const AFTERWARDS_MS = 16 * 60_000;
/** Milliseconds: longer than a command is tried again; after which a node that is down has been seen by every command line. */
const LATE_CUT_OFF_MS = 140_000;
const LONG_DOWN_MS = 150_000;
/** After so many attempts nothing is cut off any more. */
const PATIENCE = 6;

export interface Played {
  readonly schedule: Schedule;
  readonly violation: Violation | null;
  readonly rollouts: readonly RolloutEntry[];
  readonly met: ReadonlySet<string>;
  readonly turns: number;
  readonly events: readonly string[];
}

export async function play(schedule: Schedule, mutant: Mutant | null = null): Promise<Played> {
  const world = new World(schedule, mutant);
  const simulation = new Simulation(world);
  await simulation.run();
  const { violation, met, events } = world;
  return { schedule, violation, met, events, rollouts: simulation.rollouts, turns: simulation.turns };
}

/** What a failing test prints: the seed repeats it. */
export function describePlayed({ schedule, violation, events }: Played): string {
  return [
    `${violation?.message ?? "no violation"}`,
    `seed ${schedule.seed}, repeated by CAIRN_ROLLOUT_SEED=${schedule.seed}: ${JSON.stringify(schedule)}`,
    ...events,
  ].join("\n");
}

class Simulation {
  readonly #world: World;
  readonly #hosts: readonly Host[];
  readonly #database: Database;
  readonly #inbox: Inbox;
  /** Nodes that command lines do not reach until then. */
  readonly #cutOffUntil = new Map<string, number>();
  #working = 0;
  #commands = 0;
  #ids = 0;

  constructor(world: World) {
    this.#world = world;
    const onSwap = (name: string, image: string): void => {
      this.#database.checkIntent(name, image);
      this.#cutOff(name, image);
    };
    this.#hosts = Array.from({ length: world.schedule.nodes }, (_, place) => new Host(world, place, onSwap));
    this.#database = new Database(world, this.#hosts);
    this.#inbox = new Inbox(world, this.#hosts);
    for (const host of this.#hosts) host.inbox = this.#inbox;
    for (const { node, at, ms } of world.faults("node-without-database")) {
      const host = this.#hosts[node];
      if (host !== undefined && at !== null) world.clock.after(at, () => this.#cutOffDatabase(host, ms));
    }
  }

  get rollouts(): readonly RolloutEntry[] {
    return this.#database.rollouts;
  }

  get turns(): number {
    return this.#inbox.turns.length;
  }

  async run(): Promise<void> {
    const { clock } = this.#world;
    const check = (): void => this.#check();
    const over = (limit: number) => (): boolean =>
      this.#world.violation !== null || clock.time > limit || (limit === LIMIT_MS && this.#working === 0);
    this.#operate("v2", true);
    for (const { at, to } of this.#world.faults("second-command")) {
      this.#working++;
      void clock.sleep(at).then(() => {
        this.#world.met.add("second-command");
        this.#working--;
        this.#operate(to, false);
      });
    }
    await clock.run(over(LIMIT_MS), check);
    if (this.#world.violation !== null) return;
    if (this.#working > 0) return this.#world.violate("it has no end");
    this.#heal();
    this.#inbox.close();
    await clock.run(over(clock.time + AFTERWARDS_MS), check);
    if (this.#world.violation === null) this.#inbox.checkEnds();
  }

  /** An operator who wants this version on all nodes, and goes on from another machine until some rollout to it has ended. */
  #operate(to: string, isFirst: boolean): void {
    this.#working++;
    const { clock, random } = this.#world;
    // One that was interrupted counts: it is resumed first.
    const began = this.rollouts.filter(({ end }) => end !== null).length;
    const hasEnded = (): boolean => this.rollouts.slice(began).some((one) => one.to === to && one.end !== null);
    const attempts = async (): Promise<void> => {
      for (let attempt = 0; !hasEnded(); attempt++) {
        if (attempt >= PATIENCE) this.#heal();
        await this.#attempt(to, isFirst ? attempt : null);
        await clock.sleep(random.between(1_000, 60_000));
      }
    };
    void attempts().then(
      () => {
        if (isFirst && this.#world.schedule.next !== null) this.#operate(this.#world.schedule.next, false);
        this.#working--;
      },
      (error: unknown) => this.#world.violate(`the simulation itself failed: ${error}`),
    );
  }

  async #attempt(to: string, attempt: number | null): Promise<void> {
    const { maxUnavailable, onFailure } = this.#world.schedule;
    const command = new CommandLine(this.#world, `command ${++this.#commands}`, attempt);
    command.onLate = (node) => {
      this.#cutOffUntil.set(node, this.#world.clock.time + LATE_CUT_OFF_MS);
    };
    command.onCommand = (node, what, token) => {
      this.#database.checkLease(node, token);
      if (what === "drain") this.#checkAdmission(node);
    };
    command.onFrozen = ({ next }) => {
      this.#working++;
      void this.#world.clock.sleep(this.#world.random.between(30_000, 60_000)).then(() => {
        this.#working--;
        this.#operate("v2", false);
        if (next !== null) this.#operate(next, false);
      });
    };
    const ports: RolloutPorts = {
      clock: command.clock,
      lease: this.#database.leaseFor(command),
      journal: this.#database.journalFor(command),
      nodes: this.#hosts.map((host) => command.driverOf(host, () => this.#isReachable(host.name))),
    };
    const last = this.#database.newest;
    const isOpen = last !== null && last.end === null;
    this.#world.log(`${command.name} ${isOpen ? "resumes" : `begins ${to}`}`);
    const rollout = isOpen
      ? resumeRollout(ports, command.name, command.signal)
      : beginRollout(
          ports,
          { id: `r${++this.#ids}`, holder: command.name, to, onFailure, maxUnavailable },
          command.signal,
        );
    const ended = rollout.then(
      ({ outcome }) => outcome,
      (error: unknown) => `rejected: ${error instanceof Error ? error.message : error}`,
    );
    const end = await Promise.race([ended, command.killed]);
    this.#world.log(`${command.name} ends: ${end}`);
  }

  #isReachable(node: string): boolean {
    return this.#world.healed || (this.#cutOffUntil.get(node) ?? 0) <= this.#world.clock.time;
  }

  /** Right after a swap to the new version. */
  #cutOff(name: string, image: string): void {
    const { clock, met, healed } = this.#world;
    const place = this.#hosts.findIndex((host) => host.name === name);
    const host = this.#hosts[place];
    if (image !== "v2" || host === undefined || healed) return;
    for (const { ms } of this.#world.faults("node-cut-off").filter(({ node }) => node === place)) {
      met.add("node-cut-off");
      this.#world.log(`${name} is cut off from command lines for ${ms / 1_000} s`);
      this.#cutOffUntil.set(name, clock.time + ms);
    }
    const cuts = this.#world.faults("node-without-database").filter(({ node, at }) => node === place && at === null);
    for (const { ms } of cuts) this.#cutOffDatabase(host, ms);
  }

  #cutOffDatabase(host: Host, ms: number): void {
    const { clock, met, healed } = this.#world;
    if (healed) return;
    met.add("node-without-database");
    this.#world.log(`${host.name} is cut off from its database for ${ms / 1_000} s`);
    host.isCutOff = true;
    clock.after(ms, () => {
      host.isCutOff = false;
      this.#world.log(`${host.name} reaches its database again`);
    });
  }

  #heal(): void {
    this.#world.healed = true;
    for (const host of this.#hosts) host.isCutOff = false;
  }

  /** A node that serves is taken out only where few enough are known to be out of service, for whatever reason. */
  #checkAdmission(node: string): void {
    const { maxUnavailable } = this.#world.schedule;
    const isForward =
      this.#database.newest?.steps.findLast(({ name }) => name.endsWith(` ${node}`))?.name === `apply ${node}`;
    const isServing = this.#hosts.some((host) => host.name === node && host.serving);
    const down = this.#hosts.filter(({ downMs }) => downMs > LONG_DOWN_MS).map(({ name }) => name);
    if (isForward && isServing && down.length >= maxUnavailable) {
      this.#world.violate(`${node} is taken out of service although ${down.join(", ")} does not serve`);
    }
  }

  #check(): void {
    for (const host of this.#hosts) host.update();
    const taken = this.#hosts.filter((host) => host.taken).map(({ name }) => name);
    if (taken.length > this.#world.schedule.maxUnavailable) {
      this.#world.violate(`${taken.join(", ")} are out of service at the same time`);
    }
    const pollers = this.#hosts.filter(({ process }) => process?.polling);
    if (pollers.length > 1) this.#world.violate(`${pollers.map(({ name }) => name).join(", ")} poll the same channel`);
  }
}
