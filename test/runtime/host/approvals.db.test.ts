/** Approvals through the doors of a whole node: the real shell, the routes, the stream of events, the audit log, a restart. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { verifyAudit } from "../../../control/audit/verify-audit.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { startOllamaFake } from "../../fakes/ollama/index.ts";
import type { FakeScript } from "../../fakes/shared/script.ts";
import { composedNode } from "../../support/composed-node.ts";
import { OWNER_TOKEN, startedHost } from "../../support/started-host.ts";

const STORES: Database["backend"][] = process.env["CAIRN_TEST_PG_URL"] ? ["embedded", "postgres"] : ["embedded"];
const COMMAND = "printf '%s' \"$(cat word.txt)\" > made.txt";

/** Runs what the user has written, which stands behind what memory has found, then says what came of it. */
const SCRIPT: FakeScript = ({ step, results, lastUser }) =>
  step > 0
    ? { text: results.map(({ text }) => text).join("\n") }
    : { toolCalls: [{ name: "shell", arguments: { command: lastUser.split("\n").at(-1) } }] };

async function node(store: Database["backend"], rules: object[] = [{ name: "makes", pattern: "made", action: "ask" }]) {
  const model = await startOllamaFake(["cheap"], { script: SCRIPT });
  onTestFinished(() => model.close());
  const composed = await composedNode({
    store,
    workspace: { "word.txt": "done" },
    config: {
      providers: { fake: { kind: "openai-compatible", base_url: `${model.url}/v1`, api_key: "key", model: "cheap" } },
      agents: { main: { provider: "fake" } },
      tools: { shell: { sandbox: "none" } },
      runtime: { safety: { rules } },
    },
  });
  const api = async (path: string, body?: object, token = OWNER_TOKEN, method = body ? "POST" : "GET") => {
    const response = await fetch(`${composed.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body ? { "content-type": "application/json" } : {}) },
      body: body ? JSON.stringify(body) : null,
    });
    return { status: response.status, body: JSON.parse(await response.text()) };
  };
  /** The message is accepted, and its turn waits. */
  const ask = async (text: string, session = "s") => {
    const { body } = await api("/api/agents/main/messages", { session, text });
    const turn = `/api/agents/main/turns/${body.result.turn_id}`;
    await expect.poll(async () => (await api(turn)).body.result.state, { timeout: 20_000 }).toBe("waiting");
    return { turn, question: (await api(turn)).body.result.question };
  };
  const ended = async (turn: string) => {
    await expect.poll(async () => (await api(turn)).status, { timeout: 20_000 }).toBe(200);
    return (await api(turn)).body.result.text;
  };
  const made = () => readFile(join(composed.workspace, "made.txt"), "utf8").catch(() => null);
  return { ...composed, api, ask, ended, made };
}

describe.each(STORES)("approvals of a node (%s)", (store) => {
  test("are listed, given by id with an admin token, and run the very command; each step is in the audit log", async () => {
    const { api, ask, ended, made, home, token } = await node(store);
    const { token: admin } = await token("ops", "admin");
    const { token: agent } = await token("bot", "agent");
    const { turn, question } = await ask(COMMAND);
    expect(question).toMatchObject({ choices: [], approval: { tool: "shell", call: `command: ${COMMAND}` } });
    const listed = await api("/api/approvals", undefined, admin);
    expect(listed.body.result).toMatchObject({
      approvals: [{ id: question.id, agent: "main", tool: "shell", conversation: "s", ...question.approval }],
      next: null,
    });
    for (const [path, body] of [
      ["/api/approvals", undefined],
      [`/api/approvals/${question.id}`, { decision: "approve" }],
      ["/api/approvals/standing", undefined],
    ] as const) {
      expect((await api(path, body, agent)).status).toBe(403);
    }
    for (const body of [
      {},
      { decision: "yes" },
      { decision: "deny", always: true },
      { decision: "approve", all: true },
    ])
      expect((await api(`/api/approvals/${question.id}`, body, admin)).status).toBe(400);
    expect((await api(`${turn}/answer`, { text: "approve" })).status).toBe(409);
    expect((await api("/api/approvals/00000000-0000-7000-8000-000000000000", { decision: "deny" })).status).toBe(404);
    expect(await made()).toBeNull();
    const decided = await api(`/api/approvals/${question.id.slice(-8)}`, { decision: "approve" }, admin);
    expect(decided.body.result).toMatchObject({ id: question.id, decision: "approved", always: false });
    expect((await api(`/api/approvals/${question.id}`, { decision: "approve" }, admin)).status).toBe(409);
    expect(await ended(turn)).toContain("exit code: 0");
    expect(await made()).toBe("done");
    const audit = join(home, "logs", "audit");
    const lines = async () => {
      const [file = ""] = await readdir(audit);
      const all = (await readFile(join(audit, file), "utf8")).trimEnd().split("\n");
      return all.map((line) => JSON.parse(line)).filter(({ event }) => String(event).startsWith("approval."));
    };
    await expect.poll(lines).toMatchObject([
      { event: "approval.asked", details: { id: question.id, tool: "shell", digest: question.approval.digest } },
      { event: "approval.approved", by: "ops", details: { id: question.id, digest: question.approval.digest } },
    ]);
    expect((await verifyAudit(audit, { signal: AbortSignal.timeout(10_000) })).problems).toEqual([]);
  });

  test("are refused where they are denied; the stream of events has the request", async () => {
    const { api, ask, ended, made, url } = await node(store);
    const { turn, question } = await ask(COMMAND);
    const stream = await fetch(`${url}${turn}`, {
      headers: { authorization: `Bearer ${OWNER_TOKEN}`, accept: "text/event-stream" },
    });
    const denied = await api(`/api/approvals/${question.id}`, { decision: "deny" });
    expect(denied.body.result).toMatchObject({ decision: "denied" });
    expect(await ended(turn)).toMatch(/TOOL_REFUSED: .*the owner has denied it/);
    const waiting = (await stream.text()).split("\n").find((line) => line.includes('"turn.waiting"'));
    expect(JSON.parse(waiting?.slice("data: ".length) ?? "{}").question.approval).toEqual(question.approval);
    expect(await made()).toBeNull();
  });

  test("wait over a restart, stand for exactly that call where so said, and revoked", async () => {
    const first = await node(store);
    const { turn, question } = await first.ask(COMMAND);
    await first.stop();
    const { request } = await startedHost({ dir: first.dir });
    const json = async (path: string, body?: object, method?: string) =>
      JSON.parse(await (await request(path, body, undefined, method)).text()).result;
    await json(`/api/approvals/${question.id}`, { decision: "approve", always: true });
    await expect.poll(async () => (await json(turn)).text, { timeout: 20_000 }).toContain("exit code: 0");
    await writeFile(join(first.workspace, "word.txt"), "again");
    const say = (text: string) => json("/api/agents/main/messages", { session: "s2", text });
    expect(await say(COMMAND)).toMatchObject({ text: expect.stringContaining("exit code: 0") });
    expect(await first.made()).toBe("again");
    const [standing] = (await json("/api/approvals/standing")).approvals;
    expect(standing).toMatchObject({ agent: "main", call: `command: ${COMMAND}`, approved_by: "owner" });
    expect(await json(`/api/approvals/standing/${standing.id}`, undefined, "DELETE")).toEqual(standing);
    expect((await json("/api/approvals/standing")).approvals).toEqual([]);
    expect((await say(COMMAND)).state).toBe("waiting");
  });
});
