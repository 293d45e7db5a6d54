/** Doctor in a directory with a deployed stack: the whole report, against nodes that answer as real ones do. */

import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { CHECKS } from "../../../control/doctor/checks/index.ts";
import type { DeploymentProbe } from "../../../control/doctor/context/deployment-probe.ts";
import { examine } from "../../../control/doctor/doctor.ts";
import type { CheckReport, Report } from "../../../control/doctor/report.ts";
import type { Health } from "../../../runtime/client/index.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { lacks } from "../../lanes/tools.ts";
import { type DeployedShape, deployedDirectory } from "../../support/deployed-directory.ts";
import { deploymentDirectory } from "../../support/deployment.ts";
import { closedPort } from "../../support/ports.ts";
import { healthWith, NO_TOOLS, probeContextWith, ROOT, VERSION } from "./probe-context.ts";
import { WRONGS, type Wrong } from "./wrongs.ts";

const TOKEN = "owner-token-long-enough";
/** As the newest migration of this program has it; nothing here depends on the number. */
const SERVER = {
  extensions: { vector: "0.8.1", pg_trgm: "1.6" },
  connections: { used: 12, allowed: 97 },
  clock: { ahead_ms: 2, uncertain_ms: 3 },
};
const WELL = { backend: "postgres", reachable: true, version: "17.10", server: SERVER };
const DEAD = { backend: "postgres", reachable: false, error: "getaddrinfo ENOTFOUND lab-postgres" };
const UNAVAILABLE = {
  code: "MEMORY_UNAVAILABLE",
  message: "The database cannot be reached.",
  severity: "error",
  retryable: true,
};

/** A node that reports this of its memory, and says so too where the memory is asked for something. */
async function node(memory: Readonly<Record<string, unknown>>, more: Partial<Health> = {}): Promise<number> {
  const isDead = memory["reachable"] === false;
  const stats = {
    messages: { total: 1, embedded: 0 },
    embedding_queue_depth: 0,
    unsummarized: { total: 1, conversations_over_threshold: 0 },
    summaries: { leaf: 0, branch: 0, root: 0 },
    compaction: { last_run_at: null, last_error: null },
    queues: [],
    messages_: [],
  };
  const server = createServer((request, response) => {
    const [path = ""] = (request.url ?? "").split("?");
    const status = isDead ? "unhealthy" : "healthy";
    const answers: Readonly<Record<string, object>> = {
      "/health": healthWith({ status, memory, schema_version: null, ...more }),
      "/api/memory/tool/memory_stats": stats,
      "/api/memory/tool/memory_browse": { messages: [] },
      "/api/admin/tokens": { tokens: [] },
      "/api/mesh": { nodes: [] },
      "/api/mesh/peers": { pings: [] },
      "/api/admin/memory/sessions": { sessions: [], next_cursor: null },
    };
    response.setHeader("content-type", "application/json");
    if (request.headers.authorization !== `Bearer ${TOKEN}`) response.statusCode = 401;
    if (isDead && path !== "/health") {
      response.statusCode = 503;
      response.end(JSON.stringify({ ok: false, error: UNAVAILABLE }));
    } else response.end(JSON.stringify({ ok: true, result: answers[path] ?? {} }));
  });
  return listening(server);
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const SHELL = "{ main: { tools: { others: { include: [shell] } } } }";

async function doctor(shape: DeployedShape, probe: Partial<DeploymentProbe> = {}, yaml?: string): Promise<Report> {
  const dir = await deploymentDirectory({ env: `SERVICE_API_TOKEN=${TOKEN}\n` });
  await deployedDirectory(dir, { agents: SHELL, ...shape });
  if (yaml !== undefined) await writeFile(join(dir, "cairn.yaml"), yaml);
  const { report } = await examine({
    flags: { dir },
    env: { HOME: dir, SERVICE_HOME: join(dir, "home") },
    cwd: dir,
    root: ROOT,
    version: VERSION,
    timeoutMs: EVENTUALLY_MS,
    signal: new AbortController().signal,
    skip: ["updates", "workspace", "secrets.ignored", "system.disk"],
    probe: { ...NO_TOOLS, hasTool: async (name) => name === "docker", ...probe },
  });
  return report;
}

function check({ checks }: Report, id: string): CheckReport | undefined {
  return checks.find((one) => one.id === id);
}

const failed = ({ checks }: Report) => checks.filter(({ status }) => status === "fail").map(({ id }) => id);
const texts = ({ checks }: Report) => checks.map(({ message, fix = "" }) => `${message} ${fix}`).join("\n");
const STARTS_HERE = /cairn (?:start|restart|stop)\b/;

describe("a deployed stack", () => {
  it("that is well fails no check, and its database is judged by what its node reports", async () => {
    const report = await doctor({ ports: { "nova-1": await node(WELL) } });
    expect(failed(report)).toEqual([]);
    for (const id of [
      "database.reachable",
      "database.version",
      "database.extensions",
      "database.pool",
      "system.clock",
    ]) {
      expect(check(report, id), id).toMatchObject({ status: "pass" });
    }
    expect(check(report, "database.version")).toMatchObject({ message: "PostgreSQL 17.10." });
    expect(check(report, "database.pool")?.message).toContain("12 of 97 connections");
    expect(texts(report)).not.toMatch(STARTS_HERE);
  });

  it.each([
    ["database.version", { ...WELL, version: "15.4" }, "15.4 is too old"],
    [
      "database.extensions",
      { ...WELL, server: { ...SERVER, extensions: { vector: null, pg_trgm: "1.6" } } },
      "no pgvector",
    ],
    ["database.pool", { ...WELL, server: { ...SERVER, connections: { used: 5, allowed: 7 } } }, "the server allows 7"],
    [
      "system.clock",
      { ...WELL, server: { ...SERVER, clock: { ahead_ms: 3_600_000, uncertain_ms: 9 } } },
      "The clock of the node",
    ],
  ])("fails %s by its node's report", async (id, memory, words) => {
    const report = await doctor({ ports: { "nova-1": await node(memory) } });
    expect(failed(report)).toEqual([id]);
    expect(check(report, id)?.message).toContain(words);
  });

  it.each([1, 2])("with a dead PostgreSQL is one failure, whatever else needs it (%i nodes)", async (count) => {
    const ports = Object.fromEntries(
      await Promise.all(Array.from({ length: count }, async (_, at) => [`nova-${at + 1}`, await node(DEAD)] as const)),
    );
    const report = await doctor({ ports });
    expect(failed(report)).toEqual(["database.reachable"]);
    expect(check(report, "database.reachable")).toMatchObject({
      message: expect.stringContaining("ENOTFOUND lab-postgres"),
      fix: expect.stringContaining("`cairn infra up`"),
    });
    for (const id of ["deployment.node", "database.version", "memory.writes", "queues.failed", "secrets.tokens"]) {
      expect(check(report, id), id).toMatchObject({
        status: "skip",
        message: expect.stringContaining("see database.reachable"),
      });
    }
    expect(texts(report)).not.toMatch(/The check itself failed/);
    expect(texts(report)).not.toMatch(STARTS_HERE);
  });

  it("of which one node is down is one failure that names it, and the other one is asked", async () => {
    const report = await doctor({ ports: { "nova-1": await closedPort(), "nova-2": await node(WELL) } });
    expect(failed(report)).toEqual(["deployment.node"]);
    expect(check(report, "deployment.node")).toMatchObject({
      message: expect.stringMatching(/^1 of 2 nodes do not answer: nova-1 \(/),
      detail: expect.stringContaining("nova-2: healthy"),
      fix: expect.stringContaining("`cairn infra status`"),
    });
    expect(check(report, "database.reachable")).toMatchObject({ status: "pass" });
  });

  it("whose nodes are all down is one failure", async () => {
    const report = await doctor({ ports: { "nova-1": await closedPort(), "nova-2": await closedPort() } });
    expect(failed(report)).toEqual(["deployment.node"]);
    expect(texts(report)).not.toMatch(STARTS_HERE);
  });

  it("on an engine that does not answer is told of by that check alone", async () => {
    const problem = async () => "Cannot connect to the Docker daemon";
    const report = await doctor({ ports: { "nova-1": await closedPort() } }, { dockerProblem: problem });
    expect(failed(report)).toEqual(["deployment.docker"]);
    expect(check(report, "deployment.node")?.message).toContain("see deployment.docker");
  });

  it("whose configuration is broken is told of by the configuration's check alone", async () => {
    const report = await doctor({ ports: { "nova-1": await node(WELL) } }, {}, "version: 1\nagents: [\n");
    expect(failed(report)).toEqual(["config.syntax"]);
    expect(texts(report)).not.toMatch(STARTS_HERE);
  });

  it("with nodes of an earlier version skips what they do not report", async () => {
    const { server: _, ...less } = WELL;
    const report = await doctor({ ports: { "nova-1": await node(less) } });
    expect(failed(report)).toEqual([]);
    expect(check(report, "database.extensions")).toMatchObject({
      status: "skip",
      message: expect.stringContaining("does not report"),
    });
  });
});

it("before the first up nothing fails for that reason, and what to do is said once", async () => {
  const report = await doctor({ ports: { "nova-1": await node(WELL) }, deployed: false });
  expect(failed(report)).toEqual([]);
  expect(check(report, "deployment.node")).toMatchObject({
    status: "warn",
    message: "Nothing is deployed on docker.",
    fix: "Deploy it with `cairn infra up`.",
  });
  expect(check(report, "database.reachable")?.message).toContain("see deployment.node");
  expect(texts(report)).not.toMatch(STARTS_HERE);
});

describe("where a target has the nodes, no check advises to start one here:", () => {
  // What was seen of a database of this machine is not what a stack's is judged by.
  const wrongs = WRONGS.filter(({ id, seen }) => !(id === "database.reachable" && seen?.database));
  const named = (usesGit: boolean) =>
    wrongs
      .filter((wrong) => (wrong.usesGit ?? false) === usesGit)
      .map((wrong) => [`${wrong.id} when ${wrong.when}`, wrong] as const);
  it.each(named(false))("%s", (_name, wrong) => expectNoStart(wrong));
  it.skipIf(lacks("git")).each(named(true))("%s", (_name, wrong) => expectNoStart(wrong));

  async function expectNoStart(wrong: Wrong): Promise<void> {
    const context = await probeContextWith(wrong);
    await wrong.arrange?.(context);
    const { node: seen } = context;
    Object.assign(context, {
      target: async () => "docker",
      node: async () => ({ ...(await seen()), target: "docker" }),
    });
    const found = CHECKS.find(({ id }) => id === wrong.id);
    const outcome = await found
      ?.run(context, AbortSignal.timeout(EVENTUALLY_MS))
      .catch((error: Error) => error.message);
    expect(JSON.stringify(outcome)).not.toMatch(STARTS_HERE);
  }
});
