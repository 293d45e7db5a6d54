/** The life of a stack on a real engine, with stub providers: deploy, change, drift, destroy, deploy again, delete. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { parse, stringify } from "yaml";
import type { Manifest } from "../../../control/backup/manifest.ts";
import { destroy } from "../../../control/deploy/operations/destroy.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import { roll } from "../../../control/deploy/operations/roll/roll.ts";
import type { Services } from "../../../control/deploy/operations/services.ts";
import { status } from "../../../control/deploy/operations/status.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { SCHEMAS, stackRecord } from "../../../control/deploy/schemas.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { stubDriver } from "../../fakes/pulumi/stub-driver.ts";
import { makeStubPlugins, type StubPlugins } from "../../fakes/pulumi/stub-plugins.ts";
import { infraRun, type ProjectShape, TOKEN, writeProject } from "../../support/infra-project.ts";
import { writeSealedBackup } from "../../support/sealed-backup.ts";

const SHAPE: ProjectShape = { stack: "lab", nodes: ["one", "two"] };
const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const DESTROY = { yes: true, deleteData: false, confirm: undefined, backupTaken: undefined } as const;
const VOLUMES = ["lab-one-home", "lab-one-workspace", "lab-postgres-data", "lab-two-home", "lab-two-workspace"];

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const PASSPHRASE = "four words of mine";
const SIX_YEARS_MS = 6 * 366 * 86_400_000;

let base: string;
let dir: string;
let plugins: StubPlugins;
/** Everything that was forgetting or written, to look for secrets in. */
const reported: string[] = [];

const run = (more: Partial<Parameters<typeof infraRun>[0]> = {}) => {
  const made = infraRun({ dir, home: join(base, "home"), target: { plugins }, ...more });
  return { ...made, onEvent: (event: Parameters<typeof made.onEvent>[0]) => reported.push(JSON.stringify(event)) };
};
const changes = () =>
  plugins
    .calls()
    .filter(({ op }) => op !== "read")
    .map(({ op, name }) => `${op} ${name}`)
    .sort();
const keep = <T>(value: T): T => {
  reported.push(JSON.stringify(value));
  return value;
};
const passwordOfDatabase = () =>
  JSON.stringify(plugins.resources()).match(/postgres(?:ql)?:\/\/cairn:([^@]{32,})@/)?.[1] ?? "";

const removeByHand = (...names: string[]): void => {
  const file = join(plugins.data, "docker.json");
  const all: [string, { props: Record<string, unknown> }][] = Object.entries(JSON.parse(readFileSync(file, "utf8")));
  const kept = all.filter(([, { props }]) => !names.includes(String(props["name"])));
  writeFileSync(file, JSON.stringify(Object.fromEntries(kept)));
};

/** What the server shows first, and what each node pins, which is one for all. */
function certificates(): { readonly shown: string; readonly pinned: string } {
  const files = (container: string): string => {
    const found = Object.values(plugins.resources()).find(({ props }) => props["name"] === `${container}.files`);
    return JSON.stringify(found?.props["uploads"]);
  };
  const [shown = ""] = files("lab-postgres").match(CERTIFICATE) ?? [];
  const pins = ["lab-one", "lab-two"].flatMap((node) => files(node).match(CERTIFICATE) ?? []);
  const [pinned = ""] = pins;
  expect(pins).toEqual([pinned, pinned]);
  return { shown, pinned };
}

describe("a stack", { concurrent: false }, () => {
  beforeAll(() => {
    base = mkdtempSync(join(tmpdir(), "cairn-engine-"));
    dir = join(base, "deployment");
    plugins = makeStubPlugins(join(base, "stubs"));
    writeProject(dir, SHAPE);
  });
  beforeEach(() => {
    vi.stubEnv("PATH", `${plugins.bin}:${process.env["PATH"]}`);
    vi.stubEnv("PULUMI_HOME", join(base, "pulumi"));
    plugins.forget();
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  it("is shown before it exists, and nothing is made", async () => {
    const result = SCHEMAS["infra-preview"].parse(keep(await preview(run())));
    expect(result.summary).toMatchObject({ update: 0, replace: 0, delete: 0, same: 0 });
    expect(result.changes.filter(({ op }) => op !== "create")).toEqual([]);
    expect(result.changes.map(({ name }) => name)).toEqual(expect.arrayContaining(["lab-one", "lab-two", ...VOLUMES]));
    expect(plugins.resources()).toEqual({});
  });

  it("is refused an image for other machines, and nothing is made", async () => {
    const made = run({ target: { plugins, architectures: ["amd64"] } });
    const images = { ...made.services.images, architectures: async () => ["arm64"] };
    const foreign = { ...made, services: { ...made.services, images } };
    const refusal = {
      code: "INFRA_IMAGE_MISSING",
      message: expect.stringContaining("is for arm64, and node one runs on"),
    };
    await expect(up(foreign, UP)).rejects.toMatchObject(refusal);
    await expect(roll(foreign, { ...UP, onFailure: "rollback" })).rejects.toMatchObject(refusal);
    expect(changes()).toEqual([]);
  });

  it("is deployed", async () => {
    const result = SCHEMAS["infra-up"].parse(keep(await up(run(), UP)));
    expect(result).toMatchObject({ healthy: true, adopted: [], next: "cairn chat" });
    expect(result.nodes.map(({ name, url }) => [name, url])).toEqual([
      ["one", "http://127.0.0.1:7433"],
      ["two", "http://127.0.0.1:7434"],
    ]);
    const record = stackRecord.parse(JSON.parse(readFileSync(join(dir, "infra/stack.json"), "utf8")));
    expect(record).toMatchObject({ stack: "lab", target: "docker", nodes: [{ name: "one" }, { name: "two" }] });
    const release = JSON.parse(readFileSync(join(dir, "infra/release.json"), "utf8"));
    expect(Object.keys(release.nodes)).toEqual(["one", "two"]);
    expect(SCHEMAS["infra-status"].parse(keep(await status(run())))).toMatchObject({
      deployed: true,
      pending: 0,
      holder: null,
      nodes: [{ health: "healthy" }, { health: "healthy" }],
    });
  });

  it("keeps its secrets to those that need them", () => {
    const password = passwordOfDatabase();
    // Both did reach the containers, so looking for them elsewhere means something.
    expect(password.length).toBeGreaterThanOrEqual(32);
    expect(JSON.stringify(plugins.resources())).toContain(TOKEN);
    const infra = join(dir, "infra");
    expect(statSync(join(infra, ".passphrase")).mode & 0o777).toBe(0o600);
    expect(statSync(join(infra, "state")).mode & 0o777).toBe(0o700);
    const passphrase = readFileSync(join(infra, ".passphrase"), "utf8").trim();
    const files = readdirSync(infra, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== ".passphrase" && !entry.parentPath.includes("node_modules"))
      .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name), "utf8")] as const);
    expect(files.map(([name]) => name)).toEqual(expect.arrayContaining(["lab.json", "Pulumi.lab.yaml"]));
    for (const secret of [TOKEN, password, passphrase]) {
      expect(files.filter(([, text]) => text.includes(secret)).map(([name]) => name)).toEqual([]);
      expect(reported.filter((text) => text.includes(secret))).toEqual([]);
    }
  });

  it("is left alone when nothing changed", async () => {
    const result = await up(run(), UP);
    expect(result).toMatchObject({ changes: [], summary: { create: 0, update: 0, replace: 0, delete: 0 } });
    expect(changes()).toEqual([]);
  });

  it("has only the changed setting changed, and shows it before", async () => {
    writeProject(dir, { ...SHAPE, memory: "768Mi" });
    const { changes: shown } = keep(await preview(run()));
    expect(shown.map(({ op, name, properties }) => [op, name, properties.map(({ path }) => path)])).toEqual([
      ["update", "lab-one", ["memory", "memorySwap"]],
      ["update", "lab-two", ["memory", "memorySwap"]],
    ]);
    expect(shown[0]?.properties[0]).toEqual({ path: "memory", kind: "update", before: 512, after: 768 });
    await up(run(), UP);
    expect(changes()).toEqual(["update lab-one", "update lab-two"]);
  });

  it("does not have two running nodes replaced at once, but one that is named", async () => {
    writeProject(dir, { ...SHAPE, memory: "768Mi", timezone: "Europe/Berlin" });
    await expect(up(run(), UP)).rejects.toMatchObject({
      code: "INFRA_UP_REFUSED",
      message: expect.stringMatching(/one, two/),
      details: { hint: expect.stringContaining("`cairn infra up --roll`") },
    });
    expect(changes()).toEqual([]);
    const result = keep(await up(run(), { ...UP, node: "two" }));
    expect(result?.healthy).toBe(true);
    const touched = [...new Set(changes().map((line) => line.split(" ")[1] ?? ""))];
    expect(touched.filter((name) => !name.startsWith("lab-two"))).toEqual([]);
    expect(touched).toContain("lab-two");
  });

  it("does not say of one node that it has what only all of them can get", async () => {
    const now = { ...SHAPE, memory: "768Mi", timezone: "Europe/Berlin" };
    await up(run(), UP);
    plugins.forget();
    writeProject(dir, { ...now, network: "elsewhere" });
    await expect(up(run(), { ...UP, node: "two" })).rejects.toMatchObject({
      code: "INFRA_UP_REFUSED",
      message: expect.stringContaining("elsewhere"),
    });
    expect(changes()).toEqual([]);
    writeProject(dir, now);
  });

  it("has the certificate of its database renewed without a change to any node", async () => {
    const later = { services: { now: () => new Date(Date.now() + SIX_YEARS_MS) } };
    const before = certificates();
    expect(before.shown).not.toBe(before.pinned);
    // Near its end, and somebody changes one node alone: that node goes on with what it has, and the rest is named.
    const one = keep(await up(run(later), { ...UP, node: "two" }));
    expect(one?.warnings).toContainEqual(
      expect.objectContaining({ message: expect.stringMatching(/^Not done by --node: .*lab-postgres/) }),
    );
    expect(changes()).toEqual([]);
    expect(certificates()).toEqual(before);
    // Both nodes run, and none of them stops.
    const result = keep(await up(run(later), UP));
    expect(result?.healthy).toBe(true);
    expect(result?.warnings).toEqual([]);
    const touched = new Set(changes().map((line) => line.split(" ")[1]));
    expect(touched).toEqual(new Set(["lab-postgres", "lab-postgres.files"]));
    expect(certificates()).toMatchObject({ pinned: before.pinned });
    expect(certificates().shown).not.toBe(before.shown);
    expect(await up(run(later), UP)).toMatchObject({ changes: [] });
  });

  it.each([
    ["another password", ["cairn:postgresPassword"]],
    ["another authority", ["cairn:postgresAuthority", "cairn:postgresTls"]],
  ])("gives %s of the database to no node alone, and says how all get it", async (_words, keys) => {
    const settings = join(dir, "infra/Pulumi.lab.yaml");
    const former = readFileSync(settings, "utf8");
    const { config, ...rest } = parse(former);
    const kept = Object.entries(config).filter(([key]) => !keys.includes(key));
    writeFileSync(settings, stringify({ ...rest, config: Object.fromEntries(kept) }));
    const refused = { code: "INFRA_UP_REFUSED", details: { hint: expect.stringContaining("`cairn infra destroy`") } };
    await expect(up(run(), { ...UP, node: "two" })).rejects.toMatchObject({
      ...refused,
      message: expect.stringContaining("lab-postgres-access"),
    });
    await expect(up(run(), UP)).rejects.toMatchObject(refused);
    expect(changes()).toEqual([]);
    writeFileSync(settings, former);
  });

  it("gives all nodes another authority of the database the way that it says", async () => {
    const settings = join(dir, "infra/Pulumi.lab.yaml");
    const { config, ...rest } = parse(readFileSync(settings, "utf8"));
    const { "cairn:postgresAuthority": _authority, "cairn:postgresTls": _tls, ...kept } = config;
    writeFileSync(settings, stringify({ ...rest, config: kept }));
    const { pinned } = certificates();
    await destroy(run(), DESTROY);
    expect(await up(run(), UP)).toMatchObject({ healthy: true });
    expect(certificates().pinned).not.toBe(pinned);
    expect(await up(run(), { ...UP, node: "two" })).toMatchObject({ changes: [], warnings: [] });
  });

  it("has what was removed behind its back shown, made anew by the next up, and nothing of it recorded before", async () => {
    const gone = ["lab-two", "lab-postgres"];
    removeByHand(...gone);
    const state = readFileSync(join(dir, "infra/state/.pulumi/stacks/cairn/lab.json"), "utf8");
    const found = [
      expect.objectContaining({ kind: "missing", name: "lab-postgres", node: null, data_lost: false }),
      expect.objectContaining({ kind: "missing", name: "lab-two", node: "two", data_lost: false }),
    ];
    const shown = SCHEMAS["infra-preview"].parse(keep(await preview(run())));
    expect(shown.drift).toEqual(expect.arrayContaining(found));
    expect(shown.changes.filter(({ op }) => op === "create").map(({ name }) => name)).toEqual(
      expect.arrayContaining(gone),
    );
    expect(await status(run())).toMatchObject({ healthy: false });
    expect(readFileSync(join(dir, "infra/state/.pulumi/stacks/cairn/lab.json"), "utf8")).toBe(state);
    expect(changes()).toEqual([]);
    const result = keep(await up(run(), UP));
    expect(result).toMatchObject({ healthy: true, drift: expect.arrayContaining(found) });
    const made = changes().filter((line) => gone.some((name) => line === `create ${name}`));
    expect(made).toEqual(["create lab-postgres", "create lab-two"]);
    expect(await up(run(), UP)).toMatchObject({ changes: [], drift: [] });
  });

  it("has a node alone brought back with what all share, and the other one left for the next up", async () => {
    const gone = ["lab-one", "lab-two", "lab-postgres"];
    removeByHand(...gone);
    await up(run(), { ...UP, node: "two" });
    expect(
      changes()
        .filter((line) => line.startsWith("create lab"))
        .sort(),
    ).toEqual(expect.arrayContaining(["create lab-postgres", "create lab-two"]));
    expect(changes()).not.toContain("create lab-one");
    expect(await up(run(), UP)).toMatchObject({ healthy: true, drift: [expect.objectContaining({ name: "lab-one" })] });
  });

  it("says of data that vanished that they did", async () => {
    removeByHand("lab-two-home");
    const { drift } = await preview(run());
    expect(drift).toMatchObject([{ name: "lab-two-home", data_lost: true }]);
    expect(await up(run(), UP)).toMatchObject({ healthy: true, changes: [{ op: "create", name: "lab-two-home" }] });
  });

  it("loses no data to a node that is taken out, and does not repeat how the engine would let them go", async () => {
    const less = { ...SHAPE, memory: "768Mi", timezone: "Europe/Berlin", nodes: ["one"] };
    writeProject(dir, less);
    const protectedData = {
      code: "INFRA_DATA_PROTECTED",
      message: "This would remove data: lab-two-home, lab-two-workspace.",
    };
    const asked = run();
    await expect(preview(asked)).rejects.toMatchObject(protectedData);
    await expect(up(asked, UP)).rejects.toMatchObject(protectedData);
    expect(reported.filter((text) => text.includes("unprotect"))).toEqual([]);
    expect(changes()).toEqual([]);
    writeProject(dir, { ...less, nodes: SHAPE.nodes });
  });

  it("is not forgotten under another name", async () => {
    writeProject(dir, { ...SHAPE, stack: "renamed" });
    const refused = { code: "INFRA_UP_REFUSED", details: { hint: expect.stringContaining("back to lab") } };
    await expect(destroy(run(), DESTROY)).rejects.toMatchObject(refused);
    await expect(up(run(), UP)).rejects.toMatchObject(refused);
    await expect(status(run())).rejects.toMatchObject(refused);
    writeProject(dir, { ...SHAPE, memory: "768Mi", timezone: "Europe/Berlin" });
  });

  it("has settings that the provider reads compared where the target says so, and brought back", async () => {
    plugins.fault({ drift: { "docker/lab-one": { memory: 64 } } });
    const target = { plugins, readsSettings: true };
    const { changes: shown } = keep(await preview(run({ target })));
    expect(shown).toMatchObject([{ op: "update", name: "lab-one" }]);
    expect(await up(run({ target }), UP)).toMatchObject({ changes: [{ op: "update", name: "lab-one" }] });
    plugins.fault({});
  });

  it("is removed without its data, which the next deployment has again", async () => {
    const result = SCHEMAS["infra-destroy"].parse(keep(await destroy(run(), DESTROY)));
    expect(result.kept.map(({ name, place }) => [name, place])).toEqual(VOLUMES.map((name) => [name, "local"]));
    const remaining = Object.values(plugins.resources()).map(({ props }) => props["name"]);
    expect(remaining.sort()).toEqual(VOLUMES);
    expect(await status(run())).toMatchObject({
      deployed: false,
      nodes: [{ state: "missing" }, { state: "missing" }],
      data: VOLUMES.map((name) => ({ name, place: "local" })),
    });
    plugins.forget();
    expect(await up(run(), UP)).toMatchObject({ healthy: true, adopted: [] });
    expect(changes().filter((line) => VOLUMES.some((name) => line.endsWith(` ${name}`)))).toEqual([]);
  });

  it("is deleted with its data only under its name and with a fresh backup", async () => {
    const asked = { ...DESTROY, deleteData: true, confirm: "lab" };
    await expect(destroy(run(), { ...asked, confirm: "other" })).rejects.toThrow(/not the stack's name/);
    // No node answers at the stub's address, so there is no backup.
    await expect(destroy(run(), asked)).rejects.toMatchObject({ code: "INFRA_DATA_PROTECTED" });
    await expect(destroy(run(), { ...asked, withoutBackup: true })).rejects.toMatchObject({
      message: expect.stringContaining("is deployed, so nothing was removed"),
    });
    const old = join(base, "old.backup");
    await expect(destroy(run(), { ...asked, backupTaken: taken(old) })).rejects.toThrow(`There is no file ${old}.`);
    const archive = gzipSync('{"$archive":"cairn"}\n');
    writeFileSync(old, archive.subarray(0, -9));
    await expect(destroy(run(), { ...asked, backupTaken: taken(old) })).rejects.toMatchObject({
      code: "INFRA_DATA_PROTECTED",
      message: expect.stringContaining("no whole backup"),
    });
    writeFileSync(old, archive);
    const later = { now: () => new Date(Date.now() + 25 * 3_600_000) };
    await expect(destroy(run({ services: later }), { ...asked, backupTaken: taken(old) })).rejects.toMatchObject({
      code: "INFRA_DATA_PROTECTED",
    });
    expect(changes()).toEqual([]);
    const busy = new InfraError("INFRA_DATA_PROTECTED", "In use.", { hint: "Look." });
    const createDriver: Services["createDriver"] = async ({ plan }) => ({
      ...stubDriver(plan, { plugins }),
      deleteData: () => Promise.reject(busy),
    });
    await expect(
      destroy(run({ services: { createDriver } }), { ...asked, backupTaken: taken(old) }),
    ).rejects.toMatchObject({
      message: "In use.",
      details: { hint: expect.stringMatching(/^Look\. .*--backup-taken .*old\.backup/) },
    });
    const forgotten: string[] = [];
    const forgetting: Services["createDriver"] = async ({ plan }) => ({
      ...stubDriver(plan, { plugins }),
      forgetFence: async (node) => void forgotten.push(node),
    });
    const last = run({ services: { createDriver: forgetting } });
    const result = SCHEMAS["infra-destroy"].parse(await destroy(last, { ...asked, backupTaken: taken(old) }));
    expect(result.deleted.map(({ name }) => name).sort()).toEqual(VOLUMES);
    expect(forgotten).toEqual(SHAPE.nodes);
    expect(plugins.resources()).toEqual({});
    expect(await status(run())).toMatchObject({ deployed: false, data: [] });
  });

  it("is deleted without a deployment when it is removed already: with a sealed backup, or with none on demand", async () => {
    const asked = { ...DESTROY, deleteData: true, confirm: "lab" };
    const removed = async () => {
      expect(await up(run(), UP)).toMatchObject({ healthy: true });
      await destroy(run(), DESTROY);
    };
    await removed();
    await expect(destroy(run(), asked)).rejects.toMatchObject({
      code: "INFRA_DATA_PROTECTED",
      message: expect.stringContaining("is removed already"),
      details: { hint: expect.stringMatching(/--backup-taken FILE.*--without-backup/) },
    });
    const sealed = (name: string, about: Partial<Manifest["deployment"]>, createdAt = new Date()) =>
      writeSealedBackup(join(base, name), { passphrase: PASSPHRASE, about: { directory: dir, ...about }, createdAt });
    const whole = await sealed("whole.tar.age", {});
    const dayAgo = new Date(Date.now() - 25 * 3_600_000);
    const refused = [
      [taken(whole, "another one"), /does not open this backup/],
      [taken(await sealed("other.tar.age", { directory: "/srv/other" })), /of another deployment \(\/srv\/other\)/],
      [taken(await sealed("node.tar.age", { nodes: null })), /of a node outside of the stack/],
      [taken(await sealed("old.tar.age", {}, dayAgo)), /not of the last 24 hours/],
    ] as const;
    for (const [backupTaken, message] of refused) {
      const code = "INFRA_DATA_PROTECTED";
      await expect(destroy(run(), { ...asked, backupTaken })).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message),
      });
    }
    const cut = join(base, "cut.tar.age");
    writeFileSync(cut, readFileSync(whole).subarray(0, -9));
    await expect(destroy(run(), { ...asked, backupTaken: taken(cut) })).rejects.toThrow(/cut off or was altered/);
    const result = SCHEMAS["infra-destroy"].parse(await destroy(run(), { ...asked, backupTaken: taken(whole) }));
    expect(result).toMatchObject({ backup: whole, kept: [] });
    expect(result.deleted.map(({ name }) => name).sort()).toEqual(VOLUMES);
    expect(plugins.resources()).toEqual({});
    await removed();
    const typeName = vi.fn(async () => "lab");
    const prompts = { confirm: async () => true, adopt: async () => true, typeName };
    const given = await destroy(run({ services: { prompts } }), { ...asked, confirm: undefined, withoutBackup: true });
    expect(typeName).toHaveBeenCalledWith(expect.stringMatching(/NO BACKUP.*lab-postgres-data/), expect.anything());
    expect(SCHEMAS["infra-destroy"].parse(given)).toMatchObject({ backup: null, kept: [] });
    expect(plugins.resources()).toEqual({});
  });
});

function taken(file: string, passphrase = PASSPHRASE) {
  return { file, passphrase: async () => passphrase };
}
