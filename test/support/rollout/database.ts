/** The fleet's database, with the lease and the journal, which is compared with what really runs when a rollout ends. */

import type { FencingToken, FleetLease, RolloutEntry, RolloutJournal } from "../../../control/rollout/contracts.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import type { CommandLine } from "./command-line.ts";
import type { Host } from "./host.ts";
import type { World } from "./world.ts";

const TTL_MS = 30_000;
/** Milliseconds for which a node that passes has been ready, on clocks that may be slow by a hundredth. */
const STEADY_MS = 29_000;

export class Database {
  readonly #world: World;
  readonly #hosts: readonly Host[];
  /** One a rollout, as they are kept. */
  readonly rollouts: RolloutEntry[] = [];
  #lease = { number: 0, holder: "", until: 0 };

  constructor(world: World, hosts: readonly Host[]) {
    this.#world = world;
    this.#hosts = hosts;
  }

  get newest(): RolloutEntry | null {
    return this.rollouts.at(-1) ?? null;
  }

  leaseFor(command: CommandLine): FleetLease {
    const { clock } = this.#world;
    return {
      acquire: (holder, signal) =>
        command.toDatabase(signal, async () => {
          if (this.#lease.until > clock.time) {
            throw new InfraError("INFRA_LOCKED", `${this.#lease.holder} is at work.`);
          }
          this.#lease = { number: this.#lease.number + 1, holder, until: clock.time + TTL_MS };
          this.#world.log(`${holder} has lease ${this.#lease.number}`);
          return { fleet: "fleet", number: this.#lease.number, ttlMs: TTL_MS };
        }),
      renew: (number, signal) =>
        command.toDatabase(signal, async () => {
          const { until } = this.#lease;
          if (number !== this.#lease.number || until <= clock.time) {
            throw new InfraError("INFRA_LOCKED", "The lease has expired.");
          }
          this.#lease.until = clock.time + TTL_MS;
        }),
      release: (number) =>
        command.toDatabase(undefined, async () => {
          if (number === this.#lease.number) this.#lease.until = 0;
        }),
    };
  }

  journalFor(command: CommandLine): RolloutJournal {
    return {
      read: (signal) => command.toDatabase(signal, async () => this.newest),
      write: (entry, lease) =>
        command.writing(() => command.toDatabase(undefined, async () => this.#write(entry, lease))),
    };
  }

  /** A command is issued with a lease that holds. */
  checkLease(node: string, { lease, command }: FencingToken): void {
    if (lease === this.#lease.number && this.#lease.until > this.#world.clock.time) return;
    this.#world.violate(`${node} is sent ${lease}.${command} with a lease that has expired`);
  }

  /** A swap that really happens has its intent in the journal. */
  checkIntent(host: string, image: string): void {
    const entry = this.newest;
    const step = entry?.steps.findLast(({ name }) => name.endsWith(` ${host}`));
    const former = entry?.from.find(({ node }) => node === host)?.image;
    const intended = step?.name === `apply ${host}` ? entry?.to : step?.name === `back ${host}` ? former : undefined;
    if (intended === image && step?.state === "begun") return;
    this.#world.violate(`${host} gets ${image}, and the journal has ${step?.name ?? "nothing"} (${step?.state})`);
  }

  #write(entry: RolloutEntry, lease: number): void {
    const { met } = this.#world;
    if (lease !== this.#lease.number) throw new InfraError("INFRA_LOCKED", "Another one has the lease.");
    for (const { at, ms } of this.#world.faults("journal-full")) {
      if (!this.#world.isDuring(at, ms)) continue;
      met.add("journal-full");
      throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
    }
    const kept = this.#world.mutant === "journal" ? { ...entry, steps: [] } : entry;
    const at = this.rollouts.findIndex(({ id }) => id === entry.id);
    if (at < 0) this.rollouts.push(kept);
    else this.rollouts[at] = kept;
    const step = entry.steps.at(-1);
    this.#world.log(
      `journal: ${entry.end === null ? `${step?.name ?? "begin"} ${step?.state ?? ""}` : entry.end.outcome}`,
    );
    if (step !== undefined && entry.end === null) this.#checkStep(kept, step);
    if (entry.end !== null) this.#checkEnd(kept, entry.end);
  }

  #checkStep({ steps }: RolloutEntry, { name, state }: RolloutEntry["steps"][number]): void {
    const [verb, node] = name.split(" ");
    const goesBack = steps.some((one) => one.state === "failed" || one.name.startsWith("back "));
    if (verb === "apply" && state === "begun" && goesBack) this.#world.violate(`${node} gets what has failed before`);
    if (!verb?.startsWith("gate") || state !== "done" || this.#world.mutant === "gate") return;
    const steadyMs = this.#hosts.find((host) => host.name === node)?.steadyMs ?? 0;
    if (steadyMs < STEADY_MS) this.#world.violate(`${node} passes and has been ready for ${steadyMs} ms`);
  }

  #checkEnd(entry: RolloutEntry, end: NonNullable<RolloutEntry["end"]>): void {
    const lies = (text: string): void => this.#world.violate(`the journal says ${end.outcome}, and ${text}`);
    for (const { node, image: former } of entry.from) {
      const host = this.#hosts.find(({ name }) => name === node);
      if (host === undefined || end.unknown.includes(node) || end.stuck.includes(node)) continue;
      const has = end.done.includes(node) || end.outcome === "passed" ? entry.to : former;
      if (host.image !== has) lies(`${node} has ${host.image}, not ${has}`);
      if (host.taken && end.reason === null) lies(`${node} does not serve`);
    }
    if (end.outcome !== "passed" && (end.reason ?? "") === "") lies("not why");
    if (end.outcome === "operator" && end.stuck.length === 0) lies("not which node");
    if (end.outcome === "paused" && end.failed === null && !entry.from.some(({ node }) => end.reason?.includes(node))) {
      lies("not which node");
    }
  }
}
