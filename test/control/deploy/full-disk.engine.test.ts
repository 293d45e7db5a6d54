/**
 * The operator's disk full at commands that move a node or the database, before them and in their middle, on a real engine: nothing was
 * changed or the same command finishes it with room, and nothing is left that blocks.
 */

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { removeNode } from "../../../control/deploy/operations/nodes/remove-node.ts";
import { renameNode } from "../../../control/deploy/operations/nodes/rename-node.ts";
import { upgradePostgres } from "../../../control/deploy/operations/postgres/upgrade.ts";
import { preview } from "../../../control/deploy/operations/preview.ts";
import type { OperationInput } from "../../../control/deploy/operations/services.ts";
import { unlock } from "../../../control/deploy/operations/unlock.ts";
import { up } from "../../../control/deploy/operations/up.ts";
import { InfraError } from "../../../runtime/contracts/errors.ts";
import { makeStubPlugins, type StubPlugins } from "../../fakes/pulumi/stub-plugins.ts";
import { lacks } from "../../lanes/tools.ts";
import { emptyDisk, fillDisk } from "../../support/faults/full-disk.ts";
import { infraRun, writeProject } from "../../support/infra-project.ts";

const UP = { node: undefined, image: undefined, adopt: false, yes: true } as const;
const UNLOCK = { force: undefined, restoreState: false, copy: undefined } as const;
const LINES = ["extension vector", "rows public.messages|3|17"];

interface Command {
  readonly name: string;
  readonly run: (run: OperationInput) => Promise<unknown>;
  readonly done: object;
  /** Phases, and the first resource: when the disk becomes full. */
  readonly fullAt: readonly string[];
  /** What the volumes are afterwards. */
  readonly volumes: readonly string[];
}

const data = (...nodes: string[]) => nodes.flatMap((node) => [`lab-${node}-home`, `lab-${node}-workspace`]);
const removal = { node: "two", confirm: "two", yes: true } as const;
const COMMANDS: readonly Command[] = [
  {
    name: "node remove",
    run: (run) => removeNode(run, { ...removal, data: "keep", confirm: undefined }),
    done: { node: "two" },
    fullAt: ["resource"],
    volumes: [...data("one", "two"), "lab-postgres-data"],
  },
  {
    name: "node remove --data archive",
    run: (run) => removeNode(run, { ...removal, data: "archive" }),
    done: { node: "two", archive: expect.any(String) },
    fullAt: ["archive"],
    volumes: [...data("one"), "lab-postgres-data"],
  },
  {
    name: "node rename",
    run: (run) => renameNode(run, { from: "two", to: "three", yes: true }),
    done: { outcome: "renamed" },
    fullAt: ["resource", "data"],
    volumes: [...data("one", "two", "three"), "lab-postgres-data"],
  },
  {
    name: "postgres upgrade",
    run: (run) => upgradePostgres(run, { image: "postgres:18", yes: true }),
    done: { outcome: "upgraded" },
    fullAt: ["start", "copy", "resource"],
    volumes: [...data("one", "two"), "lab-postgres-18-data", "lab-postgres-data"],
  },
];

// Only root may make a small disk.
describe.skipIf(lacks("root"))("a full disk of the operator", { concurrent: false }, () => {
  let base: string;
  const disks: string[] = [];

  beforeAll(() => {
    base = mkdtempSync(join(tmpdir(), "cairn-full-"));
  });
  beforeEach(() => vi.stubEnv("PULUMI_HOME", join(base, "pulumi")));
  afterEach(() => {
    for (const disk of disks.splice(0)) execFileSync("umount", ["--lazy", disk]);
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  /** A deployed stack of two nodes, its directory on a disk of 24 MiB. */
  async function deployed(name: string) {
    const dir = join(base, name);
    mkdirSync(dir, { recursive: true });
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", dir]);
    disks.push(dir);
    const plugins: StubPlugins = makeStubPlugins(join(base, `${name}-stubs`));
    vi.stubEnv("PATH", `${plugins.bin}${delimiter}${process.env["PATH"]}`);
    writeProject(dir, { stack: "lab", nodes: ["one", "two"] });
    const file = join(dir, "cairn.yaml");
    const text = readFileSync(file, "utf8")
      .replace("{ postgres: true }", "{ postgres: true, image: postgres:17 }")
      .replace("{ provider: offline, node: two }", "{ provider: offline }");
    writeFileSync(file, text);
    const contents = new Map([["lab-postgres-data", { major: 17, lines: LINES }]]);
    const run = (onEvent: OperationInput["onEvent"] = () => undefined): OperationInput => ({
      ...infraRun({
        dir,
        home: join(base, `${name}-home`),
        target: { plugins, database: { contents, seen: [] } },
        services: {
          nodes: {
            call: () => Promise.reject(new Error("no node is called here")),
            gate: async () => undefined,
            pause: async () => undefined,
            resume: async () => undefined,
          },
          backup: async () => "backups/lab.backup",
        },
      }),
      onEvent,
    });
    await up(run(), UP);
    return { dir, plugins, run, file };
  }
  const volumesOf = (plugins: StubPlugins) =>
    Object.values(plugins.resources())
      .filter(({ type }) => type.endsWith(":Volume"))
      .map(({ props }) => String(props["name"]))
      .sort();

  it.each(COMMANDS)("refuses $name before anything is changed", async ({ name, run: command, done, volumes }) => {
    const { dir, plugins, run, file } = await deployed(`before-${name.replaceAll(/\W+/g, "-")}`);
    const former = { resources: plugins.resources(), cairn: readFileSync(file, "utf8") };
    fillDisk(dir, 0);
    await expect(command(run())).rejects.toMatchObject({
      code: "INFRA_DISK_FULL",
      details: { hint: expect.stringContaining("same command") },
    });
    expect({ resources: plugins.resources(), cairn: readFileSync(file, "utf8") }).toEqual(former);
    emptyDisk(dir);
    expect(await command(run())).toMatchObject(done);
    expect(volumesOf(plugins)).toEqual([...volumes].sort());
    expect((await preview(run())).changes).toEqual([]);
  });

  it.each(COMMANDS.flatMap((command) => command.fullAt.map((at) => ({ ...command, at }))))(
    "names itself in the middle of $name (at $at), which ends with room",
    async ({ name, run: command, done, volumes, at }) => {
      const { dir, plugins, run } = await deployed(`${name.replaceAll(/\W+/g, "-")}-${at}`);
      let filled = false;
      const cut = await command(
        run((event) => {
          if (filled || (event.event !== at && !(event.event === "phase" && event.phase === at))) return;
          filled = true;
          fillDisk(dir, 0);
        }),
      ).catch((error: unknown) => error);
      emptyDisk(dir);
      expect(filled).toBe(true);
      expect(cut).toMatchObject({ code: "INFRA_DISK_FULL", message: expect.not.stringMatching(/target/) });
      const hint = cut instanceof InfraError ? (cut.details.hint ?? "") : "";
      expect(hint).toMatch(/^Make room\. /);
      if (hint.includes("infra unlock")) {
        await unlock(run(), { ...UNLOCK, restoreState: hint.includes("--restore-state") });
      }
      expect(await command(run()), hint).toMatchObject(done);
      expect(volumesOf(plugins)).toEqual([...volumes].sort());
      expect((await preview(run())).changes).toEqual([]);
    },
  );
});
