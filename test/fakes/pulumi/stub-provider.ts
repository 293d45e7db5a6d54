/**
 * A Pulumi provider that keeps its resources in a file instead of on a machine, records what it is asked, and fails, waits
 * or dies where a test wants it to. Started by the engine as `pulumi-resource-<package>`; see stub-plugins.ts.
 */

import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Faults, StubCall, StubStore } from "./stub-files.ts";

// The provider server alone: the package's index would load the whole SDK, which takes a second longer.
const load = createRequire(createRequire(import.meta.url).resolve("@pulumi/pulumi/package.json"));
const { main } = load("@pulumi/pulumi/provider/server.js") as {
  main(provider: object, args: string[]): Promise<void>;
};

type Props = Record<string, unknown>;

// An import reads a resource of which nothing is known yet; the SDK's server does not expect that.
const { ReadRequest } = load("@pulumi/pulumi/proto/provider_pb.js") as { ReadRequest: { prototype: ReadPrototype } };
const { Struct } = load("google-protobuf/google/protobuf/struct_pb.js") as { Struct: new () => object };
interface ReadPrototype {
  getProperties(): object | undefined;
}
const given = ReadRequest.prototype.getProperties;
ReadRequest.prototype.getProperties = function redactables(this: ReadPrototype) {
  return given.call(this) ?? new Struct();
};

/** Changes of these alone are made in place; everything else of a container replaces it, as with the real provider. */
const IN_PLACE: Readonly<Record<string, readonly string[]>> = {
  "docker:index/container:Container": ["restart", "memory", "memorySwap", "cpuShares", "maxRetryCount"],
};
/** What a provider adds to what it was given. */
const COMPUTED: Readonly<Record<string, Props>> = {
  "docker:index/remoteImage:RemoteImage": {
    imageId: `sha256:${"b".repeat(64)}`,
    repoDigest: `stub@sha256:${"b".repeat(64)}`,
  },
  "command:local:Command": { stdout: "", stderr: "" },
};
/** Every change of these replaces. */
const ALWAYS_REPLACED = ["docker:index/network:Network", "docker:index/volume:Volume"];

const [name = "", version = "", directory = "", ...engineArgs] = process.argv.slice(2);
const files = {
  store: join(directory, `${name}.json`),
  calls: join(directory, "calls.ndjson"),
  faults: join(directory, "faults.json"),
};

/** The engine may be killed: what it started must not stay behind. */
const parent = process.ppid;
setInterval(() => {
  if (process.ppid !== parent) process.exit(0);
}, 200).unref();

await main(
  {
    version,
    async check(_urn: string, _olds: Props, news: Props) {
      return { inputs: news };
    },
    async diff(_id: string, urn: string, olds: Props, news: Props) {
      const type = typeOf(urn);
      const added = Object.keys(COMPUTED[type] ?? {});
      const keys = keysOf(olds, news).filter((key) => !added.includes(key));
      const changed = keys.filter((key) => JSON.stringify(olds[key]) !== JSON.stringify(news[key]));
      const inPlace = IN_PLACE[type];
      const replaces = ALWAYS_REPLACED.includes(type)
        ? changed
        : inPlace
          ? changed.filter((key) => !inPlace.includes(key))
          : [];
      return { changes: changed.length > 0, replaces, deleteBeforeReplace: true };
    },
    async create(urn: string, inputs: Props) {
      record({ op: "create", urn, name: nameOf(urn, inputs) });
      const fault = faultOf("create", urn, inputs);
      if (fault?.kind === "fail") throw new Error(fault.message ?? "the stub was told to fail");
      // A volume's id is its name, with the real provider too: it is imported by that.
      const id = typeOf(urn).endsWith(":Volume") ? nameOf(urn, inputs) : `${name}/${nameOf(urn, inputs)}`;
      const store = read();
      if (store[id] !== undefined) throw new Error(`Conflict. ${nameOf(urn, inputs)} exists already`);
      write({ ...store, [id]: { urn, type: typeOf(urn), props: inputs } });
      await act(fault, "create", urn, inputs);
      return { id, outs: { ...inputs, ...COMPUTED[typeOf(urn)] } };
    },
    async read(id: string, urn: string) {
      record({ op: "read", urn, name: id });
      const found = read()[id];
      if (found === undefined) return { id: "", props: {} };
      const drift = faults().drift?.[id] ?? {};
      const now = { ...found.props, ...drift };
      return { id, props: { ...now, ...COMPUTED[typeOf(urn)] }, inputs: now };
    },
    async update(id: string, urn: string, _olds: Props, news: Props) {
      record({ op: "update", urn, name: nameOf(urn, news) });
      const fault = faultOf("update", urn, news);
      if (fault?.kind === "fail") throw new Error(fault.message ?? "the stub was told to fail");
      await act(fault, "update", urn, news);
      write({ ...read(), [id]: { urn, type: typeOf(urn), props: news } });
      return { outs: { ...news, ...COMPUTED[typeOf(urn)] } };
    },
    async delete(id: string, urn: string, props: Props) {
      record({ op: "delete", urn, name: nameOf(urn, props) });
      const fault = faultOf("delete", urn, props);
      if (fault?.kind === "fail") throw new Error(fault.message ?? "the stub was told to fail");
      await act(fault, "delete", urn, props);
      const { [id]: _gone, ...rest } = read();
      write(rest);
    },
    async invoke() {
      return { outputs: {} };
    },
  },
  engineArgs,
);

function typeOf(urn: string): string {
  return urn.split("::")[2]?.split("$").at(-1) ?? "";
}

function nameOf(urn: string, props: Props): string {
  const metadata = props["metadata"] as { name?: unknown } | undefined;
  const own = props["name"] ?? metadata?.name;
  return typeof own === "string" ? own : (urn.split("::")[3] ?? "");
}

function keysOf(a: Props, b: Props): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])];
}

function read(): StubStore {
  return existsSync(files.store) ? JSON.parse(readFileSync(files.store, "utf8")) : {};
}

function write(store: StubStore): void {
  writeFileSync(`${files.store}.new`, JSON.stringify(store, null, 1));
  renameSync(`${files.store}.new`, files.store);
}

function faults(): Faults {
  return existsSync(files.faults) ? JSON.parse(readFileSync(files.faults, "utf8")) : {};
}

function faultOf(op: StubCall["op"], urn: string, props: Props) {
  return faults().at?.[`${op} ${nameOf(urn, props)}`];
}

function record(call: StubCall): void {
  appendFileSync(files.calls, `${JSON.stringify(call)}\n`);
}

async function act(fault: NonNullable<Faults["at"]>[string] | undefined, op: string, urn: string, props: Props) {
  if (fault?.kind === "crash") process.exit(9);
  if (fault?.kind !== "hold") return;
  // Says that it waits, then waits until the test lets it go on or kills the engine.
  writeFileSync(join(directory, `held ${op} ${nameOf(urn, props)}`), "");
  while (faultOf(op as StubCall["op"], urn, props)?.kind === "hold") await sleep(50);
}
