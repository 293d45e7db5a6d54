/** A target driver that sees what the stub plugins made: containers there are running and healthy, volumes are data. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Finding, TargetDriver } from "../../../control/deploy/driver.ts";
import type { Drift, ObservedNode } from "../../../control/deploy/inspection.ts";
import type { DeploymentPlan } from "../../../infra/plan/types.ts";
import type { StubPlugins } from "./stub-plugins.ts";

const CONTAINER = "docker:index/container:Container";
const VOLUME = "docker:index/volume:Volume";

export interface StubTarget {
  readonly plugins: StubPlugins;
  readonly findings?: readonly Finding[];
  readonly drift?: readonly Drift[];
  readonly readsSettings?: boolean;
  /** What else runs on every volume. */
  readonly usedBy?: readonly string[];
  /** Address that `connect` gives. */
  readonly url?: string;
  /** How a node's container is, by what it was made with; undefined: healthy. */
  readonly health?: (node: string, container: Readonly<Record<string, unknown>>) => StubHealth | undefined;
  /** What is in every part's log. */
  readonly log?: string;
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
    hasImage: async () => true,
    deliverImage: async () => undefined,
    existingData: async () =>
      existing(VOLUME).map(({ props }) => ({
        name: String(props["name"]),
        place: "local",
        stack: plan.stack,
        ...(target.usedBy === undefined ? {} : { usedBy: target.usedBy }),
      })),
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
    connect: async () => ({ url: target.url ?? "http://127.0.0.1:1", close: async () => undefined }),
    enter: async () => ({ program: "printf", args: ["%s", target.log ?? ""], close: async () => undefined }),
  };
}
