import { createParser } from "eventsource-parser";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { createAgentChannel } from "../../../runtime/plugins/channels/agent/index.ts";
import { describeDatabase } from "../../support/databases.ts";
import { createFakeApplication, OWNER_TOKEN } from "../../support/fake-application.ts";
import { listening, OWNER, startServer } from "../../support/http-server.ts";
import { end, type Script, startHarness, text } from "../../support/turn-harness.ts";

describeDatabase("routes over real turns", (open) => {
  async function node(script: Script) {
    const harness = await startHarness({ database: await open(), script });
    onTestFinished(() => harness.stop());
    let ids = 0;
    const agentChannel = createAgentChannel({ id: harness.channel.id, newId: () => `id-${++ids}` });
    agentChannel.onMessage((message) => harness.turns.accept(message));
    await agentChannel.start();
    const app = Object.assign(createFakeApplication(), {
      turns: harness.turns,
      agents: () => [{ name: harness.agentName, model: "scripted-1" }],
    });
    const started = startServer({ app, agentChannel });
    const url = `/api/agents/${harness.agentName}/messages`;
    const send = (message: object, headers: Record<string, string> = {}) =>
      started.server.inject({ method: "POST", url, headers: { ...OWNER, ...headers }, payload: message });
    return { ...started, harness, send };
  }

  const answer: Script = () => [text("The answer "), text("is 42."), end()];

  test("an answer comes once both rows are stored, the user's text verbatim", async () => {
    const { harness, send } = await node(answer);
    const said = "  What?\r\n\u2028 Zoë 🗿 ";
    const reply = await send({ session: "s", text: said });
    expect(reply.statusCode).toBe(200);
    expect(reply.json().result).toMatchObject({ session: "s", text: "The answer is 42.", interrupted: false });
    const rows = await harness.transcript();
    expect(rows.map(({ role, content }) => [role, content])).toEqual([
      ["user", said],
      ["assistant", "The answer is 42."],
    ]);
  });

  test("a key sent ten times at once is one turn and one answer", async () => {
    const { harness, send } = await node(answer);
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => send({ session: "s", text: "hi" }, { "idempotency-key": "k" })),
    );
    expect(new Set(replies.map(({ body }) => body)).size).toBe(1);
    expect(replies[0]?.statusCode).toBe(200);
    expect(harness.requests).toHaveLength(1);
    const other = await send({ session: "s", text: "something else" }, { "idempotency-key": "k" });
    expect(other.statusCode).toBe(409);
  });

  test("the stream can be taken up after any of its events", async () => {
    const { server, harness, send } = await node(answer);
    const first = await send({ session: "s", text: "hi" }, { accept: "text/event-stream" });
    const all = parse(first.body);
    expect(all[0]?.event).toBe("turn.started");
    expect(all.at(-1)?.event).toBe("turn.finished");
    const url = `/api/agents/${harness.agentName}/turns/${first.headers["x-turn-id"]}`;
    for (const [index, { id }] of all.slice(0, -1).entries()) {
      const headers = { ...OWNER, accept: "text/event-stream", "last-event-id": id ?? "" };
      expect(parse((await server.inject({ url, headers })).body)).toEqual(all.slice(index + 1));
    }
  });

  test("a reply whose client went away is fetched by its turn", async () => {
    const gate = Promise.withResolvers<void>();
    const started = await node(async function* () {
      yield text("The answer ");
      await gate.promise;
      yield text("is 42.");
      yield end();
    });
    const { harness } = started;
    const base = await listening(started);
    const disconnect = new AbortController();
    const stream = await fetch(`${base}/api/agents/${harness.agentName}/messages`, {
      method: "POST",
      headers: { ...OWNER, accept: "text/event-stream", "content-type": "application/json" },
      body: JSON.stringify({ session: "s", text: "hi" }),
      signal: disconnect.signal,
    });
    const turn = `${base}/api/agents/${harness.agentName}/turns/${stream.headers.get("x-turn-id")}`;
    await expect.poll(() => harness.requests.length).toBe(1);
    disconnect.abort();
    expect((await fetch(turn, { headers: OWNER })).status).toBe(202);
    gate.resolve();
    const followed = await fetch(turn, { headers: { ...OWNER, accept: "text/event-stream" } });
    expect(parse(await followed.text()).at(-1)?.event).toBe("turn.finished");
    expect(await (await fetch(turn, { headers: OWNER })).json()).toMatchObject({
      ok: true,
      result: { text: "The answer is 42." },
    });
  });

  test("the openai SDK brings its history along, or uses the session's own", async () => {
    const started = await node(answer);
    const { harness } = started;
    const openai = new OpenAI({ baseURL: `${await listening(started)}/v1`, apiKey: OWNER_TOKEN, maxRetries: 0 });
    const ask = (content: string, headers: Record<string, string> = {}) =>
      openai.chat.completions.create(
        {
          model: harness.agentName,
          messages: [
            { role: "user", content: "My name is Ann." },
            { role: "assistant", content: "Noted." },
            { role: "user", content },
          ],
        },
        { headers },
      );
    const { choices } = await ask("What is my name?");
    expect(choices[0]?.message.content).toBe("The answer is 42.");
    const said = () => harness.requests.at(-1)?.messages.map(({ role, content }) => `${role}: ${content}`);
    expect(said()).toEqual(["user: My name is Ann.", "assistant: Noted.", "user: What is my name?"]);
    expect((await harness.transcript()).map(({ content }) => content)).toEqual([
      "My name is Ann.",
      "Noted.",
      "What is my name?",
      "The answer is 42.",
    ]);

    await ask("And now?", { "x-session": "kitchen" });
    expect(said()).toEqual(["user: And now?"]);
    await ask("And then?", { "x-session": "kitchen" });
    expect(said()).toEqual(["user: And now?", "assistant: The answer is 42.", "user: And then?"]);
  });
});

function parse(body: string) {
  const messages: { id: string | undefined; event: string | undefined; data: string }[] = [];
  createParser({ onEvent: ({ id, event, data }) => messages.push({ id, event, data }) }).feed(body);
  return messages;
}
