/** A stack on the real Docker engine, deployed by the commands as they are typed, its nodes in the image that `cairn build` makes. */

import { readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished } from "vitest";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { docker, removeStack, uniqueName } from "../docker-lane.ts";
import { type Operator, operator } from "../operator.ts";
import { freePort } from "../ports.ts";
import { ensureTestImages } from "./images.ts";

export const TYPED_TOKEN = "cairn_test-token-of-a-typed-stack";

export interface TypedStack extends Operator {
  readonly name: string;
  /** Of each node. */
  readonly ports: readonly number[];
  /** cairn.yaml, with another setting of all nodes: `rounds` is `runtime.max_tool_iterations`. */
  write(rounds: number): Promise<void>;
  /** The same stack, its first node at another port, into the directory of another operator. */
  writeFor(other: Operator, port: number): Promise<void>;
  /** What PostgreSQL answers, columns with `|` between them. */
  sql(text: string): Promise<string>;
  /** Makes the table of a hundred rows that have to stay. */
  keepRows(): Promise<void>;
  /**
   * All rows are there, no engine is left, and of containers and volumes exactly what a stack of these nodes is made of. `databases`:
   * ends of the names of PostgreSQL's volumes.
   */
  expectWhole(nodes: readonly string[], data?: readonly string[], databases?: readonly string[]): Promise<void>;
  /** No container is left, and exactly the volumes of these nodes' data; without nodes no volume. */
  expectRemoved(data: readonly string[]): Promise<void>;
  /** Ids of its containers. */
  ids(): Promise<readonly string[]>;
  /** Is to be called while containers are there: volumes without a name are found again only by what uses them. */
  noteVolumes(): Promise<void>;
}

export interface TypedStackOptions {
  /** Where the containers run, as cairn.yaml says it. */
  readonly host?: string;
  /** Words that stand before each command. */
  readonly before?: () => readonly string[];
}

/** Built and configured, not deployed. Ends with the test. */
export async function typedStack(nodes: readonly string[], options: TypedStackOptions = {}): Promise<TypedStack> {
  const images = await ensureTestImages();
  const name = uniqueName("cairn-typed");
  onTestFinished(() => removed(name));
  const typed = await operator(TYPED_TOKEN, {}, options.before);
  const ports = await Promise.all(nodes.map(() => freePort()));
  const unnamed = new Set<string>();
  const configuration = (rounds: number, at: readonly number[]) => ({
    version: 1,
    runtime: { max_tool_iterations: rounds },
    agents: { main: {} },
    providers: { offline: {} },
    memory: { postgres: {} },
    deployment: {
      name,
      target: "docker",
      nodes: nodes.map((node, index) => ({ name: node, port: at[index] })),
      docker: { network: name, ...(options.host === undefined ? {} : { host: options.host }) },
      datahub: { postgres: true, image: images.postgres },
    },
  });
  const sql = (text: string) =>
    docker("exec", `${name}-postgres`, "psql", ..."-U postgres -d cairn -v ON_ERROR_STOP=1 -Atc".split(" "), text);
  const noteVolumes = async (): Promise<void> => {
    for (const volume of await unnamedVolumes(name)) unnamed.add(volume);
  };
  /** Of volumes without a name only those that a container uses are there. */
  const noOrphans = async (): Promise<void> => {
    const used = await unnamedVolumes(name);
    const present = await lines("volume", "ls", "--quiet");
    expect([...unnamed].filter((one) => present.includes(one) && !used.includes(one))).toEqual([]);
  };
  const write = (rounds: number) => typed.configure(configuration(rounds, ports));
  await write(50);
  await typed.cairn("build", "--base-image", images.node, "--tag", `${name}:1`);
  return {
    ...typed,
    name,
    ports,
    write,
    writeFor: (other, port) => other.configure(configuration(50, [port, ...ports.slice(1)])),
    ids: () => lines("ps", "--all", "--no-trunc", "--filter", `name=${name}`, "--format", "{{.ID}} {{.Names}}"),
    noteVolumes,
    sql,
    keepRows: async () =>
      void (await sql("CREATE TABLE kept AS SELECT n, md5(n::text) FROM generate_series(1, 100) AS n")),
    async expectWhole(of, data = of, databases = ["postgres-data"]) {
      await noteVolumes();
      await expect.poll(() => processesIn(typed.dir), { timeout: EVENTUALLY_MS }).toEqual([]);
      const parts = ["postgres", ...of].flatMap((part) => [`${name}-${part}`, `${name}-${part}.files`]);
      expect(await containersOf(name)).toEqual(parts.sort());
      expect(await volumesOf(name)).toEqual(volumes(name, data, databases));
      await noOrphans();
      expect(await sql("SELECT count(*) FROM kept WHERE md5(n::text) = md5")).toBe("100");
    },
    async expectRemoved(data) {
      expect(await containersOf(name)).toEqual([]);
      expect(await lines("network", "ls", "--quiet", "--filter", `name=${name}`)).toEqual([]);
      expect(await volumesOf(name)).toEqual(volumes(name, data));
      await noOrphans();
    },
  };
}

/** Programs that work in the deployment directory: engines and their providers. Linux alone can tell. */
async function processesIn(dir: string): Promise<string[]> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => "")));
  return pids.filter((_pid, index) => places[index] === join(dir, "infra"));
}

function volumes(name: string, nodes: readonly string[], databases: readonly string[] = ["postgres-data"]): string[] {
  if (nodes.length === 0) return [];
  const own = nodes.flatMap((node) => [`${name}-${node}-home`, `${name}-${node}-workspace`]);
  return [...own, ...databases.map((one) => `${name}-${one}`)].sort();
}

async function lines(...args: string[]): Promise<string[]> {
  return (await docker(...args)).split("\n").filter((line) => line !== "");
}

/** By name, not by label: what lost its label is left over, too. */
async function containersOf(name: string): Promise<string[]> {
  return (await lines("ps", "--all", "--filter", `name=${name}`, "--format", "{{.Names}}")).sort();
}

async function volumesOf(name: string): Promise<string[]> {
  return (await lines("volume", "ls", "--quiet", "--filter", `name=${name}`)).sort();
}

/** What files are put into containers by; secrets are among them. */
async function unnamedVolumes(name: string): Promise<string[]> {
  const containers = await lines("ps", "--all", "--quiet", "--filter", `name=${name}`);
  if (containers.length === 0) return [];
  const format = '{{range .Mounts}}{{if eq .Type "volume"}}{{println .Name}}{{end}}{{end}}';
  // One that is being removed at this moment does not count.
  const { stdout } = await execa("docker", ["inspect", "--format", format, ...containers], { reject: false });
  return stdout.split("\n").filter((line) => line !== "" && !line.startsWith(name));
}

async function removed(name: string): Promise<void> {
  await removeStack(name);
  const remaining = await volumesOf(name);
  if (remaining.length > 0) await execa("docker", ["volume", "rm", "--force", ...remaining], { reject: false });
  await execa("docker", ["image", "rm", "--force", `${name}:1`], { reject: false });
}
