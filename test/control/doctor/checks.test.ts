import { readdir } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { Unavailable } from "../../../control/doctor/checks/check.ts";
import { CHECKS } from "../../../control/doctor/checks/index.ts";
import type { ProbeContext } from "../../../control/doctor/context/probe-context.ts";
import { CATEGORIES } from "../../../control/doctor/report.ts";
import { categoryOf, runChecks } from "../../../control/doctor/run.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { lacks } from "../../lanes/tools.ts";
import { healthWith, probeContextWith, ROOT } from "./probe-context.ts";
import { keyed, WRONGS, type Wrong } from "./wrongs.ts";

describe("every check", () => {
  it("stands in a file of its own, which its id names", async () => {
    const folder = join(ROOT, "control", "doctor", "checks");
    for (const check of CHECKS) {
      const [category = "", name = ""] = check.id.split(".");
      expect(await readdir(join(folder, category)), check.id).toContain(`${name}.ts`);
    }
    expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
  });

  it("belongs to one of twelve categories, each of which has one at least", () => {
    expect(new Set(CHECKS.map(categoryOf))).toEqual(new Set(CATEGORIES));
  });

  it("is made to find something below", () => {
    expect(new Set(WRONGS.map(({ id }) => id))).toEqual(new Set(CHECKS.map(({ id }) => id)));
  });
});

describe("a check tells what is wrong and what to do:", () => {
  const WITH_GIT = WRONGS.filter((wrong) => wrong.usesGit === true);
  const WITHOUT = WRONGS.filter((wrong) => wrong.usesGit !== true);
  const named = (list: readonly Wrong[]) => list.map((wrong) => [`${wrong.id} when ${wrong.when}`, wrong] as const);
  it.each(named(WITHOUT))("%s", (_name, wrong) => expectReported(wrong));
  it.skipIf(lacks("git")).each(named(WITH_GIT))("%s", (_name, wrong) => expectReported(wrong));

  async function expectReported(wrong: Wrong): Promise<void> {
    const isOwnTree = wrong.id === "updates.source" || wrong.id === "updates.available";
    const context = await probeContextWith(wrong);
    await wrong.arrange?.(context);
    if (isOwnTree) Object.assign(context, { root: context.paths.dir });
    const check = CHECKS.find(({ id }) => id === wrong.id);
    const outcome = await check?.run(context, AbortSignal.timeout(EVENTUALLY_MS)).catch((error: Error) => {
      if (error instanceof Unavailable) throw error;
      // As the runner has it.
      return { status: "fail", message: error.message, fix: "again" } as const;
    });
    expect(outcome).toMatchObject({ status: wrong.status, message: expect.stringMatching(wrong.says) });
    expect(outcome).toHaveProperty("fix", expect.stringMatching(wrong.fix ?? /\w/));
  }
});

describe("a provider", () => {
  it.each([
    [401, "fail", "refuses the key (status 401)"],
    [403, "fail", "refuses the key (status 403)"],
    [429, "warn", "too many requests"],
    [302, "warn", "redirects requests"],
    [500, "warn", "reports an internal error"],
    [404, "pass", "answers at"],
    [200, "pass", "answers at"],
  ])("that answers %i is a %s", async (status, expected, text) => {
    const asked: string[] = [];
    const { url } = await answering((path, authorization) => {
      asked.push(`${path} ${authorization}`);
      return status;
    });
    const context = await probeContextWith({ yaml: keyed(`${url}/v1`), variables: { KEY: "sesame" } });
    const outcome = await run("providers.reachable", context);
    expect(outcome).toMatchObject({ status: expected, message: expect.stringContaining(text) });
    expect(asked).toEqual(["/v1/models Bearer sesame"]);
  });

  it("that hangs is told of before the check's own time is over", async () => {
    const { url } = await answering(() => null);
    const context = await probeContextWith({ yaml: keyed(url), variables: { KEY: "k" }, probeMs: 200 });
    expect(await run("providers.reachable", context, new AbortController().signal)).toMatchObject({
      status: "fail",
      message: expect.stringContaining("no answer in time"),
    });
  });

  it.each([
    ["m", { data: [{ id: "M:latest" }] }, "pass"],
    ["claude-opus", { data: [{ id: "claude-opus-20300131" }] }, "pass"],
    ["mistral-latest", { data: [{ id: "mistral-9" }] }, "pass"],
    ["gemini-9", { data: [{ id: "models/gemini-9" }] }, "pass"],
    ["m", { data: [{ id: "other" }] }, "fail"],
    ["m", { data: [] }, "fail"],
    ["m", { data: [{ id: "other" }], has_more: true }, "skip"],
    ["m", { models: "none that is known" }, "skip"],
  ])("that is asked for %s and lists %j is a %s", async (model, body, expected) => {
    const { url } = await answering(() => 200, JSON.stringify(body));
    const yaml = keyed(`${url}/v1`).replace("model: m", `model: ${model}`);
    const context = await probeContextWith({ yaml, variables: { KEY: "sesame" } });
    expect(await run("providers.models", context)).toMatchObject({ status: expected });
  });

  it("that is down is one problem, here and as the node sees it", async () => {
    const health = healthWith({ providers: { openai: { available: false, model: "m" } }, status: "degraded" });
    const context = await probeContextWith({
      yaml: keyed("http://127.0.0.1:1/v1"),
      variables: { KEY: "k" },
      seen: {
        health: async () => health,
        sessions: async () => [],
        node: async () => ({
          state: "running",
          target: null,
          pid: 1,
          url: "http://n",
          died: null,
          taken: null,
          stack: [],
          health,
          reason: "",
          code: null,
          fix: null,
          client: null,
        }),
      },
    });
    const { checks } = await runChecks(
      CHECKS.filter(({ id }) => id.startsWith("providers.") || id === "deployment.node"),
      context,
      { timeoutMs: EVENTUALLY_MS, signal: new AbortController().signal },
    );
    expect(checks.filter(({ status }) => status === "fail" || status === "warn").map(({ id }) => id)).toEqual([
      "providers.reachable",
    ]);
    const following = checks.filter(({ follows_from }) => follows_from === "providers.reachable");
    expect(following.map(({ id }) => id)).toEqual(["providers.available", "deployment.node"]);
  });

  it("is judged from where deployed nodes stand", async () => {
    const { url } = await answering(() => 200);
    const target = async (): Promise<string> => "docker";
    const variables = { KEY: "sesame" };
    const id = "openai";
    const loopback = await probeContextWith({ yaml: keyed(`${url}/v1`), variables, seen: { target } });
    expect(await run("providers.reachable", loopback)).toMatchObject({
      status: "fail",
      message: expect.stringContaining("the container itself"),
      fix: expect.stringContaining("OLLAMA_HOST=0.0.0.0"),
    });

    // Reserved for documents: no machine has that name.
    const yaml = keyed("http://models.invalid/v1");
    const said = (available: boolean) => async () => healthWith({ providers: { [id]: { available, model: "m" } } });
    const reached = await probeContextWith({ yaml, variables, seen: { target, health: said(true) } });
    expect(await run("providers.reachable", reached)).toMatchObject({
      status: "pass",
      message: expect.stringContaining("answers the nodes"),
    });
    const unreached = await probeContextWith({ yaml, variables, seen: { target, health: said(false) } });
    expect(await run("providers.reachable", unreached)).toMatchObject({ status: "fail" });
  });

  it("without a key is asked for nothing", async () => {
    expect(await run("providers.reachable", await probeContextWith())).toMatchObject({
      status: "pass",
      message: "offline needs no server.",
    });
  });
});

describe("tool calls without a model", () => {
  const waiting = { queue: "synthesize-tool-call", waiting: 20_000, failed: 0, oldest_waiting_ms: 9 * 3_600_000 };
  const seen = (worker: object) => {
    const health = healthWith({ memory: { workers: { synthesis: worker } }, queues: [waiting] });
    return { seen: { health: async () => health } };
  };

  it("wait by intention: that is said once, and is no backlog", async () => {
    const context = await probeContextWith(seen({ state: "off", model: null, reason: "Nothing is set." }));
    expect(await run("memory.synthesis", context)).toMatchObject({
      status: "skip",
      message: "20000 tool calls wait for a sentence, and no model writes it: Nothing is set.",
    });
    expect(await run("queues.backlog", context)).toMatchObject({ status: "pass" });
  });

  it("are a backlog where there is one", async () => {
    const context = await probeContextWith(seen({ state: "on", model: "tiny", reason: null }));
    expect(await run("memory.synthesis", context)).toMatchObject({ status: "pass" });
    expect(await run("queues.backlog", context)).toMatchObject({ status: "warn" });
  });
});

it("tells why a ticker has failed for an hour", async () => {
  const embed = { queue: "embed", waiting: 1, failed: 0, oldest_waiting_ms: 2 * 3_600_000, last_error: "no space" };
  const health = healthWith({ queues: [embed] });
  const context = await probeContextWith({ seen: { health: async () => health } });
  expect(await run("queues.backlog", context)).toMatchObject({ status: "warn", detail: "embed: 1, no space" });
});

describe("reading", () => {
  it("leaves the mode of .env as it is, and takes its values all the same", async () => {
    const context = await probeContextWith({ env: "SERVICE_API_TOKEN=long-enough-for-a-token\n", mode: 0o644 });
    expect(await run("secrets.token", context)).toMatchObject({ status: "pass" });
    expect(await run("secrets.file", context)).toMatchObject({
      status: "warn",
      message: expect.stringContaining("0644"),
    });
    expect((await context.secretsFile()).mode).toBe(0o644);
  });

  it("never asks the password manager", async () => {
    const yaml = keyed("http://127.0.0.1:1").replace("${KEY}", "op://vault/item/field");
    const context = await probeContextWith({ yaml });
    expect(await run("providers.reachable", context)).toMatchObject({
      status: "pass",
      message: expect.stringContaining("not asked"),
    });
  });

  it("finds a stack lock of a dead process in the state's files", async () => {
    const { localProbe } = await import("../../../control/doctor/context/deployment-probe.ts");
    const dead = 2_147_483_000;
    const text = JSON.stringify({ pid: dead, hostname: "box", timestamp: "2030-01-31T00:00:00Z" });
    const name = "infra/state/.pulumi/locks/organization/cairn/prod/0000.json";
    const context = await probeContextWith({ files: { [name]: text } });
    const probe = localProbe({ hostname: "box", userHome: undefined, unitFolders: [] });
    expect(await probe.stackLocks(context.paths.dir)).toMatchObject([{ stack: "prod", pid: dead, alive: false }]);
    const elsewhere = localProbe({ hostname: "other", userHome: undefined, unitFolders: [] });
    expect(await elsewhere.stackLocks(context.paths.dir)).toMatchObject([{ alive: null }]);
  });

  it("finds a unit of the service manager, also one of several nodes", async () => {
    const { localProbe } = await import("../../../control/doctor/context/deployment-probe.ts");
    const context = await probeContextWith({
      files: { "units/cairn-main.service": "[Service]\n", "units/other.service": "" },
    });
    const unitFolders = [join(context.paths.dir, "units")];
    const unit = await localProbe({ hostname: "box", userHome: undefined, unitFolders }).serviceUnit();
    expect(unit?.path).toMatch(/cairn-main\.service$/);
  });
});

async function run(id: string, context: ProbeContext, signal = AbortSignal.timeout(EVENTUALLY_MS)) {
  return CHECKS.find((check) => check.id === id)?.run(context, signal);
}

/** A server that answers with a status, or never. */
async function answering(
  answer: (path: string, authorization: string) => number | null,
  body = "{}",
): Promise<{ url: string }> {
  const http = createServer((request, response) => {
    const status = answer(request.url ?? "", request.headers.authorization ?? "");
    if (status === null) return;
    response.writeHead(status, status === 302 ? { location: "http://127.0.0.1:1/" } : {}).end(body);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
}
