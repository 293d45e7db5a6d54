/** An upgrade of PostgreSQL that was cut off, with an engine and servers that are played: how it is gone on with, and what waits for it. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DatabaseServers, TargetDriver } from "../../../../control/deploy/driver.ts";
import type { Engine } from "../../../../control/deploy/engine/engine.ts";
import { infraFiles } from "../../../../control/deploy/files.ts";
import { destroy } from "../../../../control/deploy/operations/destroy.ts";
import { upgradePostgres } from "../../../../control/deploy/operations/postgres/upgrade.ts";
import type { UpgradeEntry } from "../../../../control/deploy/operations/postgres/upgrade-journal.ts";
import { recover } from "../../../../control/deploy/operations/recover.ts";
import { status } from "../../../../control/deploy/operations/status.ts";
import { InfraError } from "../../../../runtime/contracts/errors.ts";
import { infraRun, writeProject } from "../../../support/infra-project.ts";

let base: string;
let dir: string;
let seen: string[];

const played: Partial<Engine> = {
  backend: "file://state",
  locks: async () => [],
  removeBrokenLocks: async () => [],
  state: async () => ({ version: 3, deployment: { resources: [] } }),
  previewDestroy: async () => {
    seen.push("destroy");
    throw new Error("destroyed");
  },
};

function run(database: Partial<DatabaseServers> = {}) {
  const driver: Partial<TargetDriver> = {
    imagePlaces: () => ["local"],
    preflight: async () => [],
    architectures: async () => [],
    hasImage: async () => true,
    removeWorkloads: async () => {
      seen.push("remove workloads");
      throw new Error("removed");
    },
    database: {
      image: async () => "postgres:17",
      setting: (name) => ({ path: ["deployment", "docker", "database_volume"], value: name }),
      handOver: async () => undefined,
      bring: async () => undefined,
      start: async () => void seen.push("start own"),
      removeSecond: async () => void seen.push("remove second"),
      ...database,
    } as DatabaseServers,
  };
  return infraRun({
    dir,
    home: join(base, "home"),
    target: {} as never,
    services: {
      createDriver: async () => driver as TargetDriver,
      openEngine: async () => played as Engine,
      render: (async () => undefined) as never,
      nodes: {
        call: () => Promise.reject(new Error("no node is called here")),
        gate: async () => undefined,
        pause: async () => undefined,
        resume: async ({ node }) => void seen.push(`resume ${node}`),
      },
    },
  });
}
const cutOff = (state: UpgradeEntry["state"]) => {
  const from = { major: 17, image: "postgres:17", volume: "lab-postgres-data" };
  const to = { major: 18, image: "postgres:18", volume: "lab-postgres-18-data" };
  const entry: UpgradeEntry = { schema: 1, stack: "lab", state, from, to, backup: "x", tables: 0, rows: 0 };
  writeFileSync(join(dir, "infra/postgres-upgrade.json"), JSON.stringify(entry));
};
const upgrade = (image: string | undefined, database: Partial<DatabaseServers> = {}) =>
  upgradePostgres(run(database), { image, yes: true });
const REFUSED = {
  code: "INFRA_UP_REFUSED",
  details: { hint: expect.stringContaining("`cairn infra postgres upgrade`") },
};

describe("an upgrade of PostgreSQL that was cut off", () => {
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), "cairn-cut-off-"));
    dir = join(base, "deployment");
    seen = [];
    writeProject(dir, { stack: "lab", nodes: ["one"] });
  });
  afterEach(() => rmSync(base, { recursive: true, force: true }));

  it("lets the nodes go on although what it made cannot be removed", async () => {
    cutOff("copying");
    const removeSecond = () => Promise.reject(new Error("the volume is in use"));
    await expect(upgrade(undefined, { removeSecond })).rejects.toThrow("the volume is in use");
    expect(seen).toEqual(["start own", "resume one"]);
  });

  it("begins again with the image that it had, and with another one where that is named", async () => {
    const majors = (image: string) => Promise.reject(new Error(`asked for ${image}`));
    cutOff("copying");
    await expect(upgrade(undefined, { majors })).rejects.toThrow("asked for postgres:18");
    cutOff("copying");
    await expect(upgrade("postgres:19", { majors })).rejects.toThrow("asked for postgres:19");
  });

  it("goes to no other image once it switches", async () => {
    cutOff("switching");
    await expect(upgrade("postgres:19")).rejects.toMatchObject(REFUSED);
    expect(seen).toEqual([]);
  });

  it("says with code and last words what keeps it from switching", async () => {
    cutOff("switching");
    const details = { lastWords: ["no route to host"], log: "a file", hint: "Look at the host." };
    const handOver = () => Promise.reject(new InfraError("INFRA_HOST_UNREACHABLE", "It is gone.", details));
    await expect(upgrade("postgres:18", { handOver })).rejects.toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      message: expect.stringContaining("stopped on its way: It is gone."),
      details: {
        hint: expect.stringMatching(/^Look at the host\. Then run .*the same command again.*copy is complete\.$/),
        lastWords: details.lastWords,
        log: details.log,
      },
    });
  });

  it.each([
    ["copying", []],
    [null, ["lab-postgres-data"]],
  ] as const)("keeps `status` from calling data former, which it may switch to: %s", async (state, former) => {
    if (state !== null) cutOff(state);
    const found = { name: "lab-postgres-data", place: "local", stack: "lab", removal: "rm" };
    const inspect = async () => ({ nodes: [], parts: [], drift: [] });
    const made = run();
    const driver = await made.services.createDriver(await made.services.readProject(dir, made.signal));
    const createDriver = async () => ({ ...driver, inspect, formerData: async () => [found] });
    const urn = "urn:pulumi:lab::cairn::docker:index/network:Network::lab-network";
    const resources = [{ urn, type: "docker:index/network:Network", custom: true, id: "1", inputs: { name: "lab" } }];
    const engine = { ...played, state: async () => ({ version: 3, deployment: { resources } }) } as Engine;
    const services = { ...made.services, createDriver, openEngine: async () => engine };
    expect((await status({ ...made, services })).former.map(({ name }) => name)).toEqual(former);
  });

  it.each(["copying", "switching"] as const)("is ended before the stack is destroyed: %s", async (state) => {
    cutOff(state);
    const options = { yes: true, deleteData: false, confirm: undefined, backupTaken: undefined };
    await expect(destroy(run(), options)).rejects.toMatchObject(REFUSED);
    const all = { ...options, deleteData: true, confirm: "lab" };
    await expect(destroy(run(), all)).rejects.toMatchObject(REFUSED);
    expect(seen).toEqual([]);
  });

  it.each([
    ["copying", ["remove second"], /database_volume: lab-postgres-data/],
    ["switching", [], /database_volume: lab-postgres-18-data/],
  ] as const)("is ended by `recover` with the data that count: %s", async (state, removed, counts) => {
    cutOff(state);
    const { databaseUpgrade } = infraFiles(dir, "lab");
    const made = run();
    const driver = await made.services.createDriver(await made.services.readProject(dir, made.signal));
    const createDriver = async () => ({ ...driver, removeWorkloads: async () => [] });
    // What follows is a plain `up`, which needs more of a target than is played here.
    const services = { ...made.services, createDriver };
    await expect(recover({ ...made, services }, { confirm: "lab" })).rejects.toThrow();
    expect(seen).toEqual(removed);
    expect(readFileSync(join(dir, "cairn.yaml"), "utf8")).toMatch(counts);
    expect(existsSync(databaseUpgrade)).toBe(false);
  });

  it("waits for its journal until everything that runs was removed", async () => {
    cutOff("switching");
    await expect(recover(run(), { confirm: "lab" })).rejects.toThrow("removed");
    expect(existsSync(infraFiles(dir, "lab").databaseUpgrade)).toBe(true);
  });
});
