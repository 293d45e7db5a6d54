/** A target driver that sees what the stub plugins made: containers there are running and healthy, volumes are data. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseServers, Finding, TargetDriver } from "../../../control/deploy/driver.ts";
import type { Drift, ObservedNode } from "../../../control/deploy/inspection.ts";
import { databaseData } from "../../../infra/plan/names.ts";
import type { DeploymentPlan, DockerPlan } from "../../../infra/plan/types.ts";
import { urlOf } from "../../../runtime/contracts/urls.ts";
import type { StubPlugins } from "./stub-plugins.ts";

const CONTAINER = "docker:index/container:Container";
const VOLUME = "docker:index/volume:Volume";

export interface StubTarget {
  readonly plugins: StubPlugins;
  readonly findings?: readonly Finding[];
  readonly drift?: readonly Drift[];
  readonly readsSettings?: boolean;
  /** Of every machine; unknown when absent. */
  readonly architectures?: readonly string[];
  /** What else runs on every volume. */
  readonly usedBy?: readonly string[];
  /** Address that `connect` gives. */
  readonly url?: string;
  /** How a node's container is, by what it was made with; undefined: healthy. */
  readonly health?: (node: string, container: Readonly<Record<string, unknown>>) => StubHealth | undefined;
  /** Told of each command of a rollout to a node's host, which it may refuse. */
  readonly onFence?: (node: string, command: Parameters<TargetDriver["fence"]>[1]) => void;
  /** What is in every part's log. */
  readonly log?: string;
  /** What a node has in `run/node.json`. */
  readonly announced?: (node: string) => string;
  readonly database?: StubDatabase;
}

/** The two servers of an upgrade; an image ends in the major of its server: `postgres:18`. */
export interface StubDatabase {
  /** What each volume has, in the order in which it was made. */
  readonly contents: Map<string, { readonly major: number; readonly lines: readonly string[] }>;
  /** What happened: `start postgres:18`, `close`, `copy`. */
  readonly seen: string[];
  /** Called before each of these, which it may fail. */
  readonly before?: (what: string) => void;
  readonly free?: number;
}

export type StubHealth = Pick<ObservedNode, "state" | "health" | "restarts" | "reason">;

export function stubDriver(plan: DeploymentPlan, target: StubTarget): TargetDriver {
  const { plugins } = target;
  const existing = (type: string) => Object.values(plugins.resources()).filter((one) => one.type === type);
  const named = (type: string, name: string) => existing(type).find(({ props }) => props["name"] === name);
  type Resource = ReturnType<StubPlugins["resources"]>[string];
  const remove = (name: "docker" | "command", unwanted: (one: Resource) => boolean): Resource[] => {
    const file = join(plugins.data, `${name}.json`);
    const all = Object.entries(JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, Resource>>);
    writeFileSync(file, JSON.stringify(Object.fromEntries(all.filter(([, one]) => !unwanted(one)))));
    return all.map(([, one]) => one).filter(unwanted);
  };
  const observe = async (): Promise<ObservedNode[]> =>
    plan.nodes.map(({ name }) => {
      const workload = `${plan.stack}-${name}`;
      const found = named(CONTAINER, workload);
      const image = found ? String(found.props["image"]) : null;
      const [state, health] = found ? (["running", "healthy"] as const) : (["missing", "unknown"] as const);
      const other = found === undefined ? undefined : target.health?.(name, found.props);
      const seen = { name, workload, place: "local", state, health, image, version: null, since: null, restarts: null };
      return { ...seen, ...other };
    });
  return {
    preflight: async () => target.findings ?? [],
    imagePlaces: () => ["local"],
    architectures: async () => target.architectures ?? [],
    hasImage: async () => true,
    deliverImage: async () => undefined,
    existingData: async () =>
      volumesOf(
        plan,
        existing(VOLUME).map(({ props }) => String(props["name"])),
      ).map((name) => ({
        name,
        place: "local",
        stack: plan.stack,
        ...(target.usedBy === undefined ? {} : { usedBy: target.usedBy }),
      })),
    formerData: async () =>
      formerOf(
        plan,
        existing(VOLUME).map(({ props }) => String(props["name"])),
      ).map((name) => ({ name, place: "local", stack: plan.stack, removal: `docker volume rm ${name}` })),
    observe,
    // What is not among the stub's resources any more is gone; other drift is given.
    inspect: async (recorded) => {
      const ids = new Set(Object.keys(plugins.resources()));
      const gone = recorded.filter(({ type, id }) => type.startsWith("docker:") && id !== null && !ids.has(id));
      const missing = gone.map(({ urn, name, protected: data }): Drift => {
        const node = plan.nodes.find((one) => name.startsWith(`${plan.stack}-${one.name}`))?.name ?? null;
        const words = { message: `${name} is gone.`, remedy: "It is made anew." };
        const engine = { forget: [urn], replace: [], rerun: [], repair: null };
        return { kind: "missing", name, place: "local", node, dataLost: data, ...words, ...engine };
      });
      return { nodes: await observe(), parts: [], drift: [...missing, ...(target.drift ?? [])] };
    },
    fence: async (node, command) => void target.onFence?.(node, command),
    readsSettings: target.readsSettings ?? false,
    findInterrupted: async (type, name) => {
      const found = Object.entries(plugins.resources()).find(
        ([, one]) => one.type === type && one.props["name"] === name,
      );
      return found?.[0] ?? null;
    },
    removeWorkloads: async () => {
      // A command of the graph leaves nothing on a real target, and can run again.
      remove("command", () => true);
      return remove("docker", ({ type }) => type !== VOLUME).map(({ props }) => String(props["name"]));
    },
    deleteData: async (data) => {
      remove("docker", (one) => one.type === VOLUME && data.some(({ name }) => name === one.props["name"]));
    },
    archiveData: async (data, file) => writeFileSync(file, data.map(({ name }) => name).join("\n")),
    copyData: async (from, to) => {
      const file = join(plugins.data, "docker.json");
      const store = JSON.parse(readFileSync(file, "utf8")) as ReturnType<StubPlugins["resources"]>;
      const original = store[from.name];
      if (original === undefined) throw new Error(`${from.name} is not there`);
      writeFileSync(file, JSON.stringify({ ...store, [to]: { ...original, props: { ...original.props, name: to } } }));
    },
    ...(target.database === undefined || plan.target !== "docker"
      ? {}
      : { database: stubServers(plan, target.database, plugins) }),
    connect: async (name) => {
      const { tls = false, publish = null } = plan.nodes.find((node) => node.name === name) ?? {};
      return { url: target.url ?? urlOf("127.0.0.1", publish?.port ?? 1, tls), close: async () => undefined };
    },
    enter: async (part, action) => {
      const text = part.kind === "node" && action.kind === "exec" ? target.announced?.(part.name) : target.log;
      return { program: "printf", args: ["%s", text ?? ""], close: async () => undefined };
    },
  };
}

/** A database's volume of another name is none of the plan's. */
function volumesOf(plan: DeploymentPlan, names: readonly string[]): readonly string[] {
  const former = formerOf(plan, names);
  return names.filter((name) => !former.includes(name));
}

function formerOf(plan: DeploymentPlan, names: readonly string[]): readonly string[] {
  if (plan.target !== "docker") return [];
  return names.filter((name) => name.startsWith(`${plan.stack}-postgres-`) && name !== databaseData(plan));
}

function stubServers(
  plan: DockerPlan,
  { contents, seen, before, free }: StubDatabase,
  plugins: StubPlugins,
): DatabaseServers {
  const file = join(plugins.data, "docker.json");
  const store = () => JSON.parse(readFileSync(file, "utf8")) as ReturnType<StubPlugins["resources"]>;
  const own = databaseData(plan);
  const majorOf = (image: string): number => Number(/(\d+)$/.exec(image)?.[1]);
  let second: string | null = null;
  let closed = false;
  const act = (what: string): void => {
    before?.(what);
    seen.push(what);
  };
  return {
    setting: (volume) => ({ path: ["deployment", "docker", "database_volume"], value: volume }),
    image: async (recorded) => {
      const image = recorded.find(({ urn }) => urn.endsWith(`::${plan.stack}-postgres-image`))?.inputs["name"];
      return typeof image === "string" ? image : null;
    },
    bring: async () => undefined,
    majors: async (image) => ({ server: majorOf(image), data: contents.get(own)?.major ?? null }),
    exists: async (volume) => store()[volume] !== undefined,
    room: async () => ({ used: 1024 ** 2, free: free ?? 1024 ** 4 }),
    startSecond: async (image, volume) => {
      act(`start ${image} on ${volume}`);
      const original = store()[own];
      if (original === undefined) throw new Error(`${own} is not there`);
      const made = { ...original, props: { ...original.props, name: volume } };
      writeFileSync(file, JSON.stringify({ ...store(), [volume]: made }));
      contents.set(volume, { major: majorOf(image), lines: [] });
      second = volume;
    },
    closeToNodes: async () => {
      act("close");
      closed = true;
      return {
        closed: () => closed,
        open: async () => {
          closed = false;
          seen.push("open");
        },
      };
    },
    copy: async () => {
      act("copy");
      const { major = 0 } = contents.get(second ?? "") ?? {};
      contents.set(second ?? "", { major, lines: contents.get(own)?.lines ?? [] });
    },
    contents: async (server) => {
      act(`read ${server}`);
      return contents.get(server === "own" ? own : (second ?? ""))?.lines ?? [];
    },
    stop: async () => act("stop"),
    start: async () => void seen.push("start own"),
    handOver: async (volume) => void seen.push(`hand over ${volume}`),
    removeSecond: async (volume) => {
      seen.push(`remove second and ${volume}`);
      const { [volume]: _gone, ...rest } = store();
      writeFileSync(file, JSON.stringify(rest));
      contents.delete(volume);
    },
    removal: (volume) => `docker volume rm ${volume}`,
  };
}
