/** The main job from outside: the official openai SDK talks to a node whose model is reached through an official SDK too. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FakeServer, startAnthropicFake } from "../fakes/anthropic/index.ts";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import type { FakeScript } from "../fakes/shared/script.ts";
import { lacks } from "../lanes/tools.ts";
import { createDeployment, type Deployment, type NodeProcess, startNode, TOKEN } from "../support/node-process.ts";

/** Answers from what it is shown: the user's words, and whatever of its prompt speaks of a cat. */
const script: FakeScript = ({ lastUser, texts, system, step, results }) => {
  if (lastUser.startsWith("write")) {
    return step === 0
      ? {
          text: "Writing.",
          toolCalls: [
            { id: "w1", name: "file_write", arguments: { path: "notes/a.md", content: "from the agent\n" } },
            {
              id: "w2",
              name: "shell",
              arguments: { command: "cat notes/a.md; for f in ../* ../.*; do cat $f; done; env" },
            },
          ],
        }
      : { text: `Results: ${results.map(({ text }) => text).join(" | ")}` };
  }
  const cat = [system, ...texts].join("\n").match(/My cat is called (\w+)/)?.[1];
  return { text: cat && lastUser.includes("?") ? ["Your cat ", "is ", `${cat}.`] : ["You said: ", lastUser] };
};

describe.each(["openai", "anthropic"] as const)("a node over the %s SDK", (wire) => {
  let fake: FakeServer;
  let deployment: Deployment;
  let node: NodeProcess;
  const client = () => new OpenAI({ baseURL: `${node.url}/v1`, apiKey: TOKEN, maxRetries: 0 });
  const say = async (content: string, session: string) => {
    const completion = await client().chat.completions.create(
      { model: "main", messages: [{ role: "user", content }] },
      { headers: { "X-Session": session } },
    );
    return completion.choices[0]?.message.content;
  };

  beforeAll(async () => {
    fake = await (wire === "openai" ? startOpenAiFake({ script }) : startAnthropicFake({ script }));
    deployment = await createDeployment({
      config: {
        providers: {
          model: {
            kind: wire === "openai" ? "openai-compatible" : "anthropic",
            base_url: fake.baseUrl,
            model: "fake",
            api_key: "none-of-yours",
          },
        },
        agents: { main: { provider: "model" } },
        // Without the guard rail, so that it is the sandbox which is seen to hold.
        runtime: { safety: { shell_danger: false } },
      },
    });
    node = await startNode(deployment);
  });
  afterAll(async () => {
    node.signal("SIGTERM");
    expect(await node.exited).toBe(0);
    await fake.close();
    await deployment.remove();
  });

  it("lists its agents as models", async () => {
    const { data } = await client().models.list();
    expect(data.map(({ id }) => id)).toEqual(["main"]);
  });

  it("streams an answer in the chunks in which the model gave it", async () => {
    const stream = await client().chat.completions.create({
      model: "main",
      messages: [{ role: "user", content: "hello" }],
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    let usage = 0;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      usage = chunk.usage?.total_tokens ?? usage;
    }
    expect(text).toBe("You said: hello");
    expect(usage).toBeGreaterThan(0);
  });

  it("remembers through kill -9, in the session and, by what memory finds, in another one", async () => {
    await say("My cat is called Ada", "pets");
    node.signal("SIGKILL");
    await node.exited;
    node = await startNode(deployment);
    expect(await say("What is my cat called?", "pets")).toBe("Your cat is Ada.");
    expect(await say("What is my cat called?", "elsewhere")).toBe("Your cat is Ada.");
  });

  it.skipIf(lacks("bubblewrap"))(
    "works in its workspace with real tools, and sees none of the service's secrets there",
    async () => {
      const result = await node.call<{ text: string }>("/api/agents/main/messages", { session: "w", text: "write it" });
      expect(result.text).toContain("from the agent");
      expect(await readFile(join(deployment.workspace, "notes", "a.md"), "utf8")).toBe("from the agent\n");
      expect(result.text).not.toContain(TOKEN);
      expect(result.text).not.toContain("none-of-yours");
    },
  );

  it("lets a client that went away fetch the reply, and the rest of the stream, by the turn's id", async () => {
    fake.enqueue({ text: ["one ", "two ", "three"], hold: { gate: "g", after: 2 } });
    const disconnect = new AbortController();
    const response = await node.request("/api/agents/main/messages", {
      json: { session: "gone", text: "count" },
      headers: { accept: "text/event-stream" },
      signal: disconnect.signal,
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const head = (await reader?.read())?.value ?? "";
    const turnId = /"turn_id":"([^"]+)"/.exec(head)?.[1];
    disconnect.abort();
    fake.release("g");
    const path = `/api/agents/main/turns/${turnId}`;
    await expect.poll(async () => (await node.request(path)).status).toBe(200);
    expect(await node.call(path)).toMatchObject({ text: "one two three", interrupted: false });
    const rest = await node.request(path, { headers: { accept: "text/event-stream", "last-event-id": "1000001" } });
    const body = await rest.text();
    expect(body).not.toContain("event: turn.started");
    expect([...body.matchAll(/"type":"text.delta".*"text":"([^"]*)"/g)].map(([, text]) => text).join("")).toBe(
      "one two three",
    );
  });
});
