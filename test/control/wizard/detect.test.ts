import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { type LocalServer, localServer, localServers } from "../../../control/wizard/catalogue.ts";
import { detectFacts, type FactOptions } from "../../../control/wizard/detect/facts.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { USUAL_PORTS } from "../../support/no-model-servers.js";

/** What is taken where nothing is said. */
async function detectProvider({
  timeoutMs = EVENTUALLY_MS,
  ...options
}: Omit<FactOptions, "tools"> & { readonly timeoutMs?: number }) {
  const facts = await detectFacts({
    ...options,
    tools: [],
    serverTimeoutMs: timeoutMs,
  });
  return facts.provider;
}

/** A server on a free port; its origin. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  // A server that listens on a port has an address with one.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const answering =
  (body: unknown, status = 200): RequestListener =>
  (_request, response) => {
    response
      .writeHead(status, { "content-type": "application/json" })
      .end(typeof body === "string" ? body : JSON.stringify(body));
  };

const ollama = async (listener: RequestListener) => localServer("ollama", "Ollama", await serve(listener), "ollama");
const lmstudio = async (listener: RequestListener) =>
  localServer("lmstudio", "LM Studio", await serve(listener), "openai");
const models = (...names: string[]) => answering({ models: names.map((name) => ({ name })) });

describe("the provider of a fresh machine", () => {
  test.each([
    [{ ANTHROPIC_API_KEY: "k" }, { id: "anthropic", kind: "anthropic", keyVariable: "ANTHROPIC_API_KEY" }],
    [{ OPENAI_API_KEY: "k" }, { id: "openai", kind: "openai-compatible", baseUrl: "https://api.openai.com/v1" }],
    [{ GOOGLE_API_KEY: "k" }, { id: "gemini", keyVariable: "GOOGLE_API_KEY" }],
    [{ XAI_API_KEY: "k" }, { id: "xai", kind: "xai" }],
    [{ OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" }, { id: "anthropic" }],
    [{ ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "k" }, { id: "openai" }],
  ])("with %j in the environment", async (env, expected) => {
    const choice = await detectProvider({ env, localServers: [] });
    expect(choice).toMatchObject({ ...expected, source: "environment" });
    expect(choice.model).toBeTruthy();
  });

  test("is the local server's first model that can talk", async () => {
    const server = await ollama(models("nomic-embed-text:latest", "all-minilm", "qwen3:8b", "llama3"));
    const choice = await detectProvider({ env: {}, localServers: [server] });
    expect(choice).toMatchObject({
      id: "ollama",
      kind: "ollama",
      model: "qwen3:8b",
      baseUrl: new URL(server.modelsUrl).origin,
      source: "local",
    });
  });

  test("is found on a server that lists its models the other way", async () => {
    const server = await lmstudio(answering({ data: [{ id: "text-embedding-x" }, { id: "qwen/qwen3-8b" }] }));
    expect(await detectProvider({ env: {}, localServers: [server] })).toMatchObject({
      id: "lmstudio",
      kind: "openai-compatible",
      model: "qwen/qwen3-8b",
      baseUrl: `${new URL(server.modelsUrl).origin}/v1`,
    });
  });

  test("is the first server in the list, however fast the others answer", async () => {
    const servers = [await ollama(models("first")), await lmstudio(answering({ data: [{ id: "second" }] }))];
    expect(await detectProvider({ env: {}, localServers: servers })).toMatchObject({ model: "first" });
  });

  test.each<[string, RequestListener]>([
    ["has no models", models()],
    ["has only models that cannot talk", models("nomic-embed-text")],
    ["answers with an error", answering({ models: [{ name: "x" }] }, 500)],
    ["answers with something else", answering({ hello: "world" })],
    ["answers with no JSON", answering("<html>")],
    ["answers with a name that is none", models("a\nb: c")],
    ["never answers", () => {}],
    ["never ends its answer", (_request, response) => response.writeHead(200).write("{")],
  ])("is `offline` when what listens there %s", async (_what, listener) => {
    const choice = await detectProvider({ env: {}, localServers: [await ollama(listener)], timeoutMs: 100 });
    expect(choice).toMatchObject({ id: "offline", kind: "offline", source: "offline" });
  });

  test("is never looked for where the local server sends the caller to", async () => {
    const elsewhere = await serve(models("stranger"));
    const server = await ollama((_request, response) => {
      response.writeHead(302, { location: `${elsewhere}/api/tags` }).end();
    });
    expect(await detectProvider({ env: {}, localServers: [server] })).toMatchObject({ id: "offline" });
  });

  test.each([
    [undefined, "http://127.0.0.1:11434"],
    ["", "http://127.0.0.1:11434"],
    ["0.0.0.0", "http://127.0.0.1:11434"],
    ["0.0.0.0:11500", "http://127.0.0.1:11500"],
    ["127.0.0.1:80", "http://127.0.0.1"],
    ["gpu-box", "http://gpu-box:11434"],
    ["https://models.example.org", "https://models.example.org"],
    [":::", "http://127.0.0.1:11434"],
  ])("with OLLAMA_HOST %s is looked for at %s", (host, origin) => {
    const [first] = localServers(host === undefined ? {} : { OLLAMA_HOST: host });
    expect(first).toMatchObject({ modelsUrl: `${origin}/api/tags`, baseUrl: origin });
  });

  test("is `offline` when nothing listens there", async () => {
    expect(
      await detectProvider({
        env: {},
        localServers: [localServer("ollama", "Ollama", "http://127.0.0.1:1", "ollama")],
      }),
    ).toMatchObject({ id: "offline" });
  });
});

describe("model servers of this machine", () => {
  const facts = (server: LocalServer, serverTimeoutMs = EVENTUALLY_MS) =>
    detectFacts({ env: {}, tools: [], localServers: [server], serverTimeoutMs });

  test("offer all their models, those that make vectors apart, each by the server's own interface", async () => {
    const names = ["nomic-embed-text:latest", "bge-reranker-v2", "llama3", "qwen3:8b"];
    const own = await ollama(models(...names));
    expect(await facts(own)).toMatchObject({
      servers: [{ model: "llama3", models: ["llama3", "qwen3:8b"] }],
      embeddings: [{ provider: "ollama", baseUrl: new URL(own.modelsUrl).origin, model: "nomic-embed-text:latest" }],
      unusable: [],
    });
    const other = await lmstudio(answering({ data: names.map((id) => ({ id })) }));
    expect(await facts(other)).toMatchObject({
      embeddings: [{ provider: "openai-compatible", baseUrl: other.baseUrl, model: "nomic-embed-text:latest" }],
    });
  });

  test("that have nothing to talk to, or do not answer in time, are said to be there", async () => {
    const host = (server: LocalServer) => new URL(server.modelsUrl).host;
    const vectors = await ollama(models("nomic-embed-text:latest"));
    expect(await facts(vectors)).toMatchObject({
      servers: [],
      embeddings: [{ model: "nomic-embed-text:latest" }],
      unusable: [`Ollama at ${host(vectors)} has no model to talk to, only nomic-embed-text:latest`],
    });
    const empty = await ollama(models());
    expect((await facts(empty)).unusable).toEqual([`Ollama at ${host(empty)} has no model`]);
    const slow = await ollama(() => {});
    expect((await facts(slow, 50)).unusable).toEqual([`Ollama at ${host(slow)} did not answer in 0.05 s`]);
    const nothing = localServer("ollama", "Ollama", "http://127.0.0.1:1", "ollama");
    const another = await ollama(answering("<html>", 404));
    for (const server of [nothing, another]) expect(await facts(server)).toMatchObject({ servers: [], unusable: [] });
  });

  test("are looked for where the four usual ones listen", () => {
    expect(localServers({}).map(({ id, modelsUrl }) => `${id} ${modelsUrl}`)).toEqual([
      "ollama http://127.0.0.1:11434/api/tags",
      "lmstudio http://127.0.0.1:1234/v1/models",
      "llamacpp http://127.0.0.1:8080/v1/models",
      "vllm http://127.0.0.1:8000/v1/models",
    ]);
  });
});

test("a gateway's key goes to the gateway, not to OpenAI", async () => {
  const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "http://127.0.0.1:8080/v1" };
  expect(await detectProvider({ env, localServers: [] })).toMatchObject({
    id: "openai",
    baseUrl: "http://127.0.0.1:8080/v1",
    reason: "OPENAI_BASE_URL is 127.0.0.1:8080",
  });
});

test("no test asks the servers that a setup looks for on its machine", async () => {
  const urls = localServers({}).map(({ modelsUrl }) => new URL(modelsUrl));
  expect(urls.map(({ port }) => port)).toEqual(USUAL_PORTS);
  for (const url of urls)
    await expect(fetch(url)).rejects.toMatchObject({ cause: { message: expect.stringContaining("no test asks") } });
});
