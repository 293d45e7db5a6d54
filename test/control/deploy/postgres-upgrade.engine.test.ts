/** PostgreSQL moved to the next major on a real engine, with servers of a stub: in order, back where it fails, again after it was cut off. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { destroy } from "../../../control/deploy/operations/destroy.ts";
import { type UpgradeOptions, upgradePostgres } from "../../../control/deploy/operations/postgres/upgrade.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { recover } from "../../../control/deploy/operations/recover.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { SCHEMAS } from "../../../control/deploy/schemas.ts";
import type { StubDatabase } from "../../fakes/pulumi/stub-driver.ts";
import { makeStubPlugins, type StubPlugins } from "../../fakes/pulumi/stub-plugins.ts";
import { infraRun, writeProject } from "../../support/infra-project.ts";

const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const LINES = ["extension vector", "rows public.messages|3|17", "rows pgboss.job|1|4"];

let base: string;
let dir: string;
let plugins: StubPlugins;
let seen: string[];
let contents: StubDatabase["contents"];
let before: (what: string) => void;
let free: number | undefined;

const run = () =>
  infraRun({
    dir,
    home: join(base, "home"),
    target: {
      plugins,
      database: { contents, seen, before: (what) => before(what), ...(free === undefined ? {} : { free }) },
    },
    services: {
      nodes: {
        call: () => Promise.reject(new Error("no node is called here")),
        gate: async () => undefined,
        pause: async ({ node }) => void seen.push(`pause ${node}`),
        resume: async ({ node }) => void seen.push(`resume ${node}`),
      },
      backup: async () => {
        seen.push("backup");
        return "backups/lab.backup";
      },
    },
  });
const upgrade = async (options: Partial<UpgradeOptions> = {}) =>
  SCHEMAS["infra-postgres-upgrade"].parse(
    await upgradePostgres(run(), { image: "postgres:18", yes: true, ...options }),
  );
const configuration = () => readFileSync(join(dir, "cairn.yaml"), "utf8");
const passphrase = () => join(dir, "infra/.passphrase");
const journal = () => join(dir, "infra/postgres-upgrade.json");
const configured = (image: string) =>
  writeFileSync(join(dir, "cairn.yaml"), configuration().replace(/image: postgres:\d+/, `image: ${image}`));
const database = () => Object.values(plugins.resources()).find(({ props }) => props["name"] === "lab-postgres");
const containers = () =>
  plugins
    .calls()
    .filter(({ op, name }) => op === "create" && /^lab-[a-z]+$/.test(name))
    .map(({ name }) => name);

describe("infra postgres upgrade", { concurrent: false }, () => {
  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), "cairn-pg-upgrade-"));
    dir = join(base, "deployment");
    plugins = makeStubPlugins(join(base, "stubs"));
    contents = new Map([["lab-postgres-data", { major: 17, lines: LINES }]]);
    seen = [];
    before = () => undefined;
    writeProject(dir, { stack: "lab", nodes: ["one", "two"] });
    const text = configuration().replace("{ postgres: true }", "{ postgres: true, image: postgres:17 }");
    writeFileSync(join(dir, "cairn.yaml"), text);
    vi.stubEnv("PATH", `${plugins.bin}:${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    await up(run(), UP);
  });
  beforeEach(() => {
    vi.stubEnv("PATH", `${plugins.bin}:${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    plugins.forget();
    seen = [];
    before = () => undefined;
    free = undefined;
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  it("is what `up` and `preview` name for an image of another major, and neither changes anything", async () => {
    configured("postgres:18");
    const refused = {
      code: "INFRA_UP_REFUSED",
      message: "The data were written by PostgreSQL 17, and postgres:18 has PostgreSQL 18.",
    };
    const hint = "`cairn infra postgres upgrade` moves them.";
    await expect(up(run(), UP)).rejects.toMatchObject({ ...refused, details: { hint } });
    expect((await preview(run())).warnings).toContainEqual({ severity: "warning", ...refused, hint });
    configured("postgres:16");
    await expect(up(run(), UP)).rejects.toMatchObject({
      details: { hint: expect.stringContaining("deployment.datahub.image to an image of PostgreSQL 17") },
    });
    configured("postgres:17");
    expect(containers()).toEqual([]);
  });

  it("does nothing for the same major, and refuses an earlier one, a full disk, and a stack that differs", async () => {
    expect(await upgrade({ image: undefined })).toMatchObject({ outcome: "unchanged" });
    await expect(upgrade({ image: "postgres:16" })).rejects.toMatchObject({ code: "INFRA_UP_REFUSED" });
    free = 1024 ** 2;
    await expect(upgrade()).rejects.toMatchObject({ code: "INFRA_DISK_FULL" });
    free = undefined;
    const text = configuration();
    writeFileSync(join(dir, "cairn.yaml"), text.replace("timezone: UTC", "timezone: Europe/Berlin"));
    await expect(upgrade()).rejects.toMatchObject({
      code: "INFRA_UP_REFUSED",
      details: { hint: expect.stringContaining("`cairn infra up --roll`") },
    });
    writeFileSync(join(dir, "cairn.yaml"), text);
    expect(seen).toEqual([]);
  });

  it.each([
    ["the new server does not start", "start postgres:18 on lab-postgres-18-data"],
    ["nodes cannot be kept out", "close"],
    ["the copy breaks off", "copy"],
    ["the copy cannot be read", "read second"],
    ["the former server does not stop", "stop"],
  ])("leaves everything as it was where %s", async (_words, failing) => {
    before = (what) => {
      if (what === failing) throw new Error("as the test wants it");
    };
    await expect(upgrade()).rejects.toThrow("as the test wants it");
    expect(seen.slice(-4)).toEqual(["start own", "resume one", "resume two", "remove second and lab-postgres-18-data"]);
    expect([...contents.keys()]).toEqual(["lab-postgres-data"]);
    expect(existsSync(journal())).toBe(false);
    expect(configuration()).toContain("postgres:17");
    expect((await preview(run())).changes).toEqual([]);
  });

  it("goes back where a row is missing in the copy", async () => {
    before = (what) => {
      if (what === "read second") contents.set("lab-postgres-18-data", { major: 18, lines: LINES.slice(0, 2) });
    };
    await expect(upgrade()).rejects.toThrow("The copy is not what was copied: rows pgboss.job|1|4");
    expect(configuration()).toContain("postgres:17");
  });

  it("removes what an earlier try left, and moves the data with the nodes waiting", async () => {
    const unfinished = { major: 18, image: "postgres:18", volume: "lab-postgres-18-data" };
    const from = { major: 17, image: "postgres:17", volume: "lab-postgres-data" };
    const entry = { schema: 1, stack: "lab", state: "copying", from, to: unfinished, backup: "x", tables: 0, rows: 0 };
    writeFileSync(journal(), JSON.stringify(entry));
    await expect(up(run(), UP)).rejects.toMatchObject({
      code: "INFRA_UP_REFUSED",
      details: { hint: expect.stringContaining("`cairn infra postgres upgrade`") },
    });
    const result = await upgrade();
    expect(result).toMatchObject({
      outcome: "upgraded",
      from,
      to: unfinished,
      tables: 2,
      rows: 4,
      backup: "backups/lab.backup",
      kept: { volume: "lab-postgres-data", removal: "docker volume rm lab-postgres-data" },
    });
    expect(seen).toEqual([
      ...["start own", "resume one", "resume two", "remove second and lab-postgres-18-data", "backup"],
      ...[
        "start postgres:18 on lab-postgres-18-data",
        "pause one",
        "pause two",
        "close",
        "copy",
        "read own",
        "read second",
      ],
      ...["stop", "open", "hand over lab-postgres-18-data", "resume one", "resume two"],
    ]);
    // PostgreSQL alone was made anew, on the new volume; the former one is there still.
    expect(containers()).toEqual(["lab-postgres"]);
    expect(JSON.stringify(database()?.props["volumes"])).toContain("lab-postgres-18-data");
    expect(plugins.resources()["lab-postgres-data"]).toBeDefined();
    expect(configuration()).toMatch(/image: postgres:18/);
    expect(configuration()).toMatch(/database_volume: lab-postgres-18-data/);
    expect(existsSync(journal())).toBe(false);
    expect((await preview(run())).changes).toEqual([]);
    expect(await up(run(), UP)).toMatchObject({ healthy: true, changes: [] });
  });

  it("finishes a switch that was cut off", async () => {
    contents.set("lab-postgres-18-data", { major: 18, lines: LINES });
    plugins.fault({ at: { "create lab-postgres": { kind: "fail", message: "no such luck" } } });
    await expect(upgrade({ image: "postgres:19" })).rejects.toMatchObject({
      details: { hint: expect.stringContaining("`cairn infra postgres upgrade`") },
    });
    plugins.fault({});
    await expect(up(run(), UP)).rejects.toMatchObject({ code: "INFRA_UP_REFUSED" });
    seen = [];
    expect(await upgrade({ image: undefined })).toMatchObject({
      outcome: "upgraded",
      to: { major: 19, volume: "lab-postgres-19-data" },
    });
    expect(seen).toEqual(["hand over lab-postgres-19-data", "resume one", "resume two"]);
    expect(JSON.stringify(database()?.props["volumes"])).toContain("lab-postgres-19-data");
    expect((await preview(run())).changes).toEqual([]);
  });

  it("lets the nodes wait also where a plain `up` restarts PostgreSQL", async () => {
    const later = new Date(Date.now() + 6 * 366 * 86_400_000);
    const made = run();
    await up({ ...made, services: { ...made.services, now: () => later } }, UP);
    expect(seen).toEqual(["pause one", "pause two", "resume one", "resume two"]);
    expect(containers()).toEqual(["lab-postgres"]);
  });

  it("that was cut off while it copied goes back by `recover` where the passphrase is lost as well", async () => {
    const from = { major: 19, image: "postgres:19", volume: "lab-postgres-19-data" };
    const to = { major: 20, image: "postgres:20", volume: "lab-postgres-20-data" };
    const entry = { schema: 1, stack: "lab", state: "copying", from, to, backup: "x", tables: 0, rows: 0 };
    configured("postgres:20");
    writeFileSync(journal(), JSON.stringify(entry));
    rmSync(passphrase());
    await expect(upgrade({ image: undefined })).rejects.toMatchObject({
      code: "INFRA_PASSPHRASE_LOST",
      details: { hint: expect.stringContaining("`cairn infra recover`") },
    });
    expect(await recover(run(), { confirm: "lab" })).toMatchObject({ healthy: true });
    expect(seen).toContain("remove second and lab-postgres-20-data");
    expect(configuration()).toMatch(/image: postgres:19/);
    expect(JSON.stringify(database()?.props["volumes"])).toContain("lab-postgres-19-data");
    expect(existsSync(journal())).toBe(false);
    expect((await preview(run())).changes).toEqual([]);
  });

  it("that was cut off while it switched goes on with the new data by `recover` where the passphrase is lost as well", async () => {
    const made = run();
    const cut = async () => Promise.reject(new Error("as the test wants it"));
    const configurationCut = { ...made.services.configuration, setDatabase: cut };
    const services = { ...made.services, configuration: configurationCut };
    await expect(upgradePostgres({ ...made, services }, { image: "postgres:20", yes: true })).rejects.toThrow(
      /stopped on its way/,
    );
    rmSync(passphrase());
    expect(await recover(run(), { confirm: "lab" })).toMatchObject({ healthy: true });
    expect(configuration()).toMatch(/image: postgres:20/);
    expect(JSON.stringify(database()?.props["volumes"])).toContain("lab-postgres-20-data");
    expect(plugins.resources()["lab-postgres-19-data"]).toBeDefined();
    expect(existsSync(journal())).toBe(false);
    expect((await preview(run())).changes).toEqual([]);
  });

  it("has its former data named by `status`, and by the question before `destroy --delete-data`, which deletes them", async () => {
    const former = ["lab-postgres-18-data", "lab-postgres-19-data", "lab-postgres-data"];
    const { former: shown } = SCHEMAS["infra-status"].parse(await status(run()));
    expect(shown.map(({ name }) => name).sort()).toEqual(former);
    const asked: string[] = [];
    const prompts = {
      confirm: async () => true,
      typeName: async (question: string) => {
        asked.push(question);
        return "lab";
      },
      adopt: async () => false,
    };
    const made = run();
    const options = { yes: false, deleteData: true, confirm: undefined, backupTaken: undefined };
    const destroyed = await destroy({ ...made, services: { ...made.services, prompts } }, options);
    for (const name of former) expect(asked[0]).toContain(name);
    expect(destroyed?.deleted.map(({ name }) => name)).toEqual(expect.arrayContaining(former));
    expect(Object.values(plugins.resources()).filter(({ type }) => type.endsWith(":Volume"))).toEqual([]);
  });
});
