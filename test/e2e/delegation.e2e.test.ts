/**
 * Nodes as they are deployed hand each other tasks, and show each other's turns word by word. Two share a PostgreSQL, others have one
 * each; what goes between them is signed, and a node that nobody knows gets nothing.
 */

import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createPeerClients } from "../../runtime/client/peer.ts";
import { nodeIdOf } from "../../runtime/domain/mesh/node-entry.ts";
import { openPostgres } from "../../runtime/plugins/memory/postgres/index.ts";
import { quietLogger } from "../support/databases.ts";
import { introduce, type MemberNode, memberNode } from "../support/members.ts";
import { entryOf, registryOf } from "../support/node-entries.ts";
import type { NodeProcess } from "../support/node-process.ts";
import { databaseUrl, killed } from "../support/running-node.ts";
import { replyIn } from "../support/task-reply.ts";

interface Result {
  readonly turn_id: string;
  readonly text: string;
  readonly interrupted: boolean;
}

const ask = (node: NodeProcess, text: string, agent = "main") =>
  node.call<Result>(`/api/agents/${agent}/messages`, { session: "s", text });
const states = async (member: MemberNode) =>
  (await member.rows<{ state: string }>("select state from turns order by seq")).map(({ state }) => state);

/** Events of a stream as they arrive. */
async function* eventsOf(
  response: Response,
): AsyncGenerator<{ readonly id: number; readonly type: string; readonly text?: string }> {
  let buffer = "";
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    buffer += Buffer.from(chunk).toString();
    for (let at = buffer.indexOf("\n\n"); at >= 0; at = buffer.indexOf("\n\n")) {
      const frame = buffer.slice(0, at);
      buffer = buffer.slice(at + 2);
      const id = /^id: (\d+)$/m.exec(frame)?.[1];
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (data !== undefined) yield { id: Number(id), ...JSON.parse(data) };
    }
  }
}

const stream = (node: NodeProcess, text: string, agent = "main") =>
  node.request(`/api/agents/${agent}/messages`, {
    json: { session: "s", text },
    headers: { accept: "text/event-stream", "content-type": "application/json" },
  });

/** One message of two words, the second held back until the gate opens. */
const TWO_WORDS = { text: "first second", hold: { gate: "g", after: 2 } };

it("shows a turn on a node that does not run it, word by word", async () => {
  const url = await databaseUrl();
  const one = await memberNode({ name: "one", agents: ["main"], databaseUrl: url });
  const two = await memberNode({ name: "two", agents: ["main"], databaseUrl: url });
  one.model.enqueue(TWO_WORDS);
  const response = await stream(two.node, "hello");
  const seen: string[] = [];
  for await (const event of eventsOf(response)) {
    if (event.type !== "text.delta") continue;
    seen.push(event.text ?? "");
    // The turn goes on only when its first word was shown here.
    one.model.release("g");
  }
  expect(seen.length).toBeGreaterThan(1);
  expect(seen.join("")).toBe("first second");
  expect([one.model.requests.length, two.model.requests.length]).toEqual([1, 0]);
});

it("goes on showing a turn that moves to another node, nothing twice under one attempt", async () => {
  const url = await databaseUrl();
  const [one, two, three] = [
    await memberNode({ name: "one", agents: ["main"], databaseUrl: url }),
    await memberNode({ name: "two", agents: ["main"], databaseUrl: url }),
    await memberNode({
      name: "three",
      agents: ["idle"],
      databaseUrl: url,
      config: { agents: { main: { provider: "model", node: "one" } } },
    }),
  ];
  one.model.enqueue(TWO_WORDS);
  const events = eventsOf(await stream(three.node, "hello"));
  const seen: { readonly id: number; readonly type: string; readonly text?: string }[] = [];
  for await (const event of events) {
    seen.push(event);
    if (event.type === "text.delta" && one.node && seen.filter(({ type }) => type === "text.delta").length === 1) {
      void one.node.call("/api/admin/drain", { deadline_s: 0, wait: true }).catch(() => undefined);
    }
  }
  const ids = seen.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(seen.filter(({ type }) => type === "turn.started")).toHaveLength(2);
  expect(seen.at(-1)).toMatchObject({ type: "turn.finished", text: "two did hello" });
  expect([one.model.requests.length, two.model.requests.length]).toEqual([1, 1]);
});

it("hands a task to an agent that another node of the same database has, by their inbox", async () => {
  const url = await databaseUrl();
  const one = await memberNode({ name: "one", agents: ["main"], databaseUrl: url });
  const two = await memberNode({ name: "two", agents: ["helper"], databaseUrl: url });
  expect((await ask(one.node, "hand helper: the sums")).text).toBe("got (two did the sums)");
  expect(await one.rows("select 1 from remote_tasks")).toEqual([]);
  expect(await states(two)).toEqual(["done", "done"]);
});

it("tells the followers of the waiting turn what the other node of its database does for it, on any node", async () => {
  const url = await databaseUrl();
  const one = await memberNode({ name: "one", agents: ["main"], databaseUrl: url });
  const two = await memberNode({ name: "two", agents: ["helper"], databaseUrl: url });
  two.model.enqueue({ text: "the sums are done", hold: { gate: "g", after: 3 } });
  const seen: string[] = [];
  for await (const { type, text = "" } of eventsOf(await stream(one.node, "hand helper: the sums"))) {
    if (type !== "tool.progress") continue;
    seen.push(text);
    // The other node goes on only when its beginning was shown here.
    two.model.release("g");
  }
  expect(seen[0]).toBe("helper: begins");
  // What comes with the end of the task may be too late for a turn that goes on.
  for (const line of seen) expect(line).toMatch(/^helper: /);
});

async function twoDatabases() {
  const one = await memberNode({ name: "one", agents: ["main"] });
  const two = await memberNode({ name: "two", agents: ["helper"] });
  await introduce(one, two);
  return { one, two };
}

it("hands a task to a node with another database, through everything that a message goes through there", async () => {
  const { one, two } = await twoDatabases();
  expect((await ask(one.node, "hand helper: the sums")).text).toBe("got (two did the sums)");
  expect(await two.rows("select role, content from messages order by seq")).toEqual([
    { role: "user", content: "the sums" },
    { role: "assistant", content: "two did the sums" },
  ]);
  const [tool] = await one.rows<{ tool_result: string }>(
    "select tool_result from messages where tool_name = 'delegate_task'",
  );
  expect(replyIn(tool?.tool_result ?? "")).toBe("two did the sums");
  const { error } = (await (
    await one.node.request("/api/agents/main/messages", { json: { session: "t", text: "hand nobody: do" } })
  ).json()) as {
    error?: unknown;
  };
  expect(error).toBeUndefined();
  // Another session with another task runs in another session there.
  expect((await ask(one.node, "hand helper: more")).text).toBe("got (two did more)");
  expect(await two.rows("select distinct session_key from turns")).toHaveLength(2);
});

it("keeps the reply while the asking node is killed, and the task while the asked one is", async () => {
  const { one, two } = await twoDatabases();
  two.model.enqueue({ text: "slowly", hold: { gate: "g" } });
  const first = await one.node.request("/api/agents/main/messages", {
    json: { session: "s", text: "hand helper: slowly" },
    headers: { accept: "text/event-stream", "content-type": "application/json" },
  });
  const turnId = first.headers.get("x-turn-id") ?? "";
  await two.model.waitForRequests(1);
  await killed(one.node);
  await killed(two.node);
  two.model.release("g");
  await two.start();
  await expect.poll(() => states(two)).toEqual(["done"]);
  await one.start();
  const read = () => one.node.call<Partial<Result>>(`/api/agents/main/turns/${turnId}`);
  await expect.poll(async () => (await read()).text).toContain("got (");
  expect((await read()).text).toMatch(/two did slowly|slowly/);
  expect(await states(two)).toEqual(["done"]);
});

it("waits for a task whose node is drained in the middle of it and goes on", async () => {
  const { one, two } = await twoDatabases();
  two.model.enqueue({ text: "never", hold: { gate: "g" } });
  const asked = ask(one.node, "hand helper: work");
  await two.model.waitForRequests(1);
  await two.node.call("/api/admin/drain", { deadline_s: 0, wait: true });
  await two.node.call("/api/admin/resume", {}, { method: "POST" });
  expect((await asked).text).toMatch(/^got \(two did work/);
  expect(await states(two)).toEqual(["done"]);
  expect(two.model.requests).toHaveLength(2);
});

it("stops the task with the turn that waits for it", async () => {
  const { one, two } = await twoDatabases();
  two.model.enqueue({ text: "never", hold: { gate: "g" } });
  const asked = ask(one.node, "hand helper: work");
  await two.model.waitForRequests(1);
  await one.node.call("/api/agents/main/commands", { session: "s", command: "/stop" });
  expect(await asked).toMatchObject({ interrupted: true });
  await expect.poll(() => states(two)).toEqual(["aborted"]);
});

it("leaves a node that is drained, and one that cannot be reached, for another one with the agent", async () => {
  const one = await memberNode({ name: "one", agents: ["main"] });
  const [two, three, four] = [
    await memberNode({ name: "two", agents: ["helper"] }),
    await memberNode({ name: "three", agents: ["helper"] }),
    await memberNode({ name: "four", agents: ["helper"] }),
  ];
  await introduce(one, two, three, four);
  await killed(two.node);
  await three.node.call("/api/admin/drain", { wait: true });
  expect((await ask(one.node, "hand helper: the sums")).text).toBe("got (four did the sums)");
  expect([await states(three), await states(four)]).toEqual([[], ["done"]]);
});

it("takes tasks from members alone, and shows them no turns but those of their tasks", async () => {
  const { one, two } = await twoDatabases();
  const { text, turn_id: turnId } = await ask(two.node, "private", "helper");
  expect(text).toBe("two did private");
  const keys = generateKeyPairSync("ed25519");
  const clock = { now: () => new Date(), monotonic: () => performance.now() };
  const as = (id: string, privateKey = keys.privateKey) =>
    createPeerClients({ id, privateKey, clock, newId: () => crypto.randomUUID() });
  const address = {
    id: two.id,
    name: "two",
    address: two.node.url,
    certificate_sha256: null,
    next_certificate_sha256: null,
  };
  const task = { chain: [{ node: one.id, agent: "main", turn_id: "t" }], deadline_ms: 60_000 };
  const post = (id: string, json: object) =>
    as(id)
      .to(address)
      .call("/api/agents/helper/messages", { method: "POST", json, headers: { "idempotency-key": "k" } });
  // A stranger, a member's name with a stranger's key, and no token of a peer at all.
  await expect(post(nodeIdOf(keys.publicKey), { session: "s", text: "do", task })).rejects.toMatchObject({
    code: "RUNTIME_UNAUTHORIZED",
  });
  await expect(post(one.id, { session: "s", text: "do", task })).rejects.toMatchObject({
    code: "RUNTIME_UNAUTHORIZED",
  });
  const asOwner = await two.node.request("/api/agents/helper/messages", { json: { session: "s", text: "do", task } });
  expect(asOwner.status).toBe(400);

  const database = await openPostgres({ connectionString: two.databaseUrl, pool: 1, logger: quietLogger });
  onTestFinished(() => database.close());
  await registryOf(database).publish((version) => entryOf(keys, { version, name: "guest" }));
  const guest = as(nodeIdOf(keys.publicKey)).to(address);
  const said = () => guest.call("/api/agents/helper/messages", { method: "POST", json: { session: "s", text: "do" } });
  // An id that was unknown a moment ago is looked for again after a second.
  await expect
    .poll(() => said().catch(({ code }: { readonly code: string }) => code), { timeout: 20_000, interval: 1_500 })
    .toBe("RUNTIME_INVALID_REQUEST");
  for (const headers of [{}, { "max-forwards": "0" }]) {
    await expect(guest.call(`/api/agents/helper/turns/${turnId}`, { headers })).rejects.toMatchObject({
      code: "RUNTIME_TURN_UNKNOWN",
    });
  }
  await expect(
    guest.call(`/api/agents/helper/turns/${turnId}/stop`, { method: "POST", json: {} }),
  ).rejects.toMatchObject({
    code: "RUNTIME_TURN_UNKNOWN",
  });
  await expect(
    guest.call("/api/agents/helper/commands", { method: "POST", json: { session: "s", command: "/stop" } }),
  ).rejects.toMatchObject({
    code: "RUNTIME_FORBIDDEN",
  });
});

it("ends a task whose node answers with half a gigabyte, and goes on", async () => {
  const one = await memberNode({ name: "one", agents: ["main"] });
  const keys = generateKeyPairSync("ed25519");
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream", "x-turn-id": "there" });
    response.write('id: 1\nevent: turn.finished\ndata: {"type":"turn.finished","text":"');
    const piece = Buffer.alloc(1024 * 1024, "x");
    let remaining = 500;
    const more = () => {
      while (remaining-- > 0) if (!response.write(piece)) return response.once("drain", more);
      return response.end('"}\n\n');
    };
    more();
  });
  server.listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await expect.poll(() => server.listening).toBe(true);
  const database = await openPostgres({ connectionString: one.databaseUrl, pool: 1, logger: quietLogger });
  onTestFinished(() => database.close());
  await registryOf(database).publish((version) =>
    entryOf(keys, {
      version,
      name: "hog",
      agents: ["helper"],
      address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    }),
  );
  const { text } = await ask(one.node, "hand helper: the sums");
  expect(text).toContain("DELEGATION_FAILED");
  expect(text).toContain("an event of more than 8 MiB");
  expect((await ask(one.node, "still there")).text).toBe("one did still there");
});
