import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { Resolver } from "node:dns/promises";
import type { RequestListener, ServerResponse } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompressSync, gzipSync, constants as zlib, zstdCompressSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { createHtmlReader } from "../../../../runtime/plugins/tools/shared/web/html.ts";
import { createWebFetchTool, type WebFetchSettings } from "../../../../runtime/plugins/tools/web-fetch/index.ts";
import { startDnsFake } from "../../../fakes/dns/index.ts";
import { EVENTUALLY_MS } from "../../../lanes/patience.ts";
import { PUBLIC, PUBLIC_V6, startWebServer, type TestWeb, testNetwork } from "../../../support/web.ts";
import { call } from "./support.ts";

const SETTINGS: WebFetchSettings = { allowHosts: [], timeoutMs: EVENTUALLY_MS, maxBytes: 1024 * 1024 };
const TEXT = { "content-type": "text/plain" };

async function attack(
  answer: RequestListener,
  settings: Partial<WebFetchSettings> = {},
  web: TestWeb = {},
  html = createHtmlReader(),
) {
  const server = await startWebServer(answer);
  const { network, dialled } = testNetwork({ port: server.port, ...web });
  const tool = createWebFetchTool({ settings: { ...SETTINGS, ...settings }, newId: randomUUID, network, html });
  const fetch = async (url: string) => (await call(tool, { workspace: "/" }, { url })).content;
  return { server, dialled, fetch };
}

const secret: RequestListener = (_, response) => void response.writeHead(200, TEXT).end("the secret of the inside");

/** Names by a name server of the test, as the node would ask one. */
async function resolver(zone: (name: string) => readonly string[]) {
  const dns = await startDnsFake(zone);
  onTestFinished(() => dns.close());
  const client = new Resolver({ timeout: EVENTUALLY_MS, tries: 1 });
  client.setServers([dns.address]);
  const resolve = async (host: string) => {
    const found = await Promise.allSettled([client.resolve4(host), client.resolve6(host)]);
    return found.flatMap((kind) => (kind.status === "fulfilled" ? kind.value : []));
  };
  return { dns, resolve };
}

describe("web_fetch is refused an address that is not public", () => {
  it.each([
    ["plain", "http://127.0.0.1/"],
    ["decimal", "http://2130706433/"],
    ["hexadecimal", "http://0x7f000001/"],
    ["octal", "http://0177.0.0.1/"],
    ["shortened", "http://127.1/"],
    ["with a final dot", "http://127.0.0.1./"],
    ["in other digits", "http://①②⑦.⓪.⓪.①/"],
    ["zero", "http://0/"],
    ["of IPv6", "http://[::1]/"],
    ["mapped into IPv6", "http://[::ffff:127.0.0.1]/"],
    ["compatible with IPv6", "http://[::127.0.0.1]/"],
    ["translated by NAT64", "http://[64:ff9b::127.0.0.1]/"],
    ["translated by a NAT64 of one's own", "http://[64:ff9b:1::127.0.0.1]/"],
    ["in 6to4", "http://[2002:7f00:1::]/"],
    ["of the metadata service", "http://169.254.169.254/latest/meta-data/"],
    ["of the metadata service over IPv6", "http://[fd00:ec2::254]/latest/meta-data/"],
    ["private", "http://192.168.1.1/"],
    ["over https", "https://10.0.0.1/"],
  ])("%s: %s", async (_, url) => {
    const { fetch, server, dialled } = await attack(secret);
    expect(await fetch(url)).toMatch(/^TOOL_REFUSED: \S+ is refused: its address is of /);
    expect(dialled).toEqual([]);
    expect(server.asked).toEqual([]);
  });

  it("by a name that leads there, in every form that a name server can give", async () => {
    for (const address of ["127.0.0.1", "10.0.0.1", "::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "fe80::1"]) {
      const { resolve } = await resolver(() => [address]);
      const { fetch, dialled } = await attack(secret, {}, { resolve });
      expect(await fetch("http://inside.example/")).toMatch(/^TOOL_REFUSED: inside\.example is refused/);
      expect(dialled).toEqual([]);
    }
  });

  it("behind a redirect, also to a name, another scheme or a port of another service", async () => {
    const targets = [
      "http://169.254.169.254/latest/meta-data/",
      "//127.0.0.1/x",
      "http://2130706433/",
      "http://inside.example/",
      "file:///etc/passwd",
      "http://user:pw@other.example/",
      "http://other.example:25/",
    ];
    const { resolve } = await resolver((name) => [name === "inside.example" ? "10.0.0.1" : PUBLIC]);
    for (const location of targets) {
      const { fetch, server, dialled } = await attack(
        (_, response) => void response.writeHead(302, { location }).end(),
        {},
        { resolve },
      );
      expect(await fetch("http://outside.example/"), location).toMatch(/^TOOL_REFUSED/);
      expect(server.asked).toEqual(["outside.example/"]);
      expect(dialled).toEqual([PUBLIC]);
    }
  });

  it("by a name whose second answer is another one (DNS rebinding)", async () => {
    let answers = 0;
    const { resolve, dns } = await resolver(() => [answers++ < 2 ? PUBLIC : "127.0.0.1"]);
    const { fetch, dialled } = await attack(
      (request, response) => {
        if (request.url === "/first") response.writeHead(302, { location: "/second", connection: "close" }).end();
        else secret(request, response);
      },
      {},
      { resolve },
    );
    // The name is looked up once for a connection, and the socket goes to that answer.
    expect(await fetch("http://rebind.example/second")).toContain("the secret");
    expect(dialled).toEqual([PUBLIC]);
    expect(dns.asked).toEqual(["A rebind.example", "AAAA rebind.example"]);
    // A second connection looks it up again, and is checked again.
    answers = 0;
    expect(await fetch("http://rebind.example/first")).toMatch(/^TOOL_REFUSED: rebind\.example/);
    expect(dialled).toEqual([PUBLIC, PUBLIC]);
  });

  it("where a name has public and private addresses: only the public ones are tried", async () => {
    const { resolve } = await resolver(() => ["127.0.0.1", PUBLIC, "::1", PUBLIC_V6]);
    const { fetch, dialled } = await attack(secret, {}, { resolve, port: 1 });
    expect(await fetch("http://mixed.example/")).toContain("TOOL_UNAVAILABLE");
    expect(dialled).toEqual([PUBLIC, PUBLIC_V6]);
  });

  it("in the networks that the machine is in", async () => {
    const { fetch } = await attack(secret, {}, { ownNetworks: [`${PUBLIC}/24`] });
    expect(await fetch("http://neighbour.example/")).toContain("the network that this machine is in");
  });

  it("unless the owner allows that host", async () => {
    const { resolve } = await resolver(() => ["10.0.0.1"]);
    const { fetch, dialled } = await attack(secret, { allowHosts: ["wiki.lan", "10.9.0.0/16"] }, { resolve });
    expect(await fetch("http://WIKI.lan./")).toContain("the secret");
    expect(await fetch("http://10.9.8.7/")).toContain("the secret");
    expect(await fetch("http://other.lan/")).toContain("TOOL_REFUSED");
    expect(dialled).toEqual(["10.0.0.1", "10.9.8.7"]);
  });
});

describe("web_fetch in a process with the machine's own network", () => {
  const run = promisify(execFile);
  const child = async (env: Record<string, string>, ...args: string[]) =>
    (
      await run(process.execPath, [join(import.meta.dirname, "web-child.ts"), ...args], {
        env: { ...process.env, ...env },
      })
    ).stdout;

  it("uses no proxy of the environment, which would connect where nothing is checked", async () => {
    const proxy = await startWebServer(secret);
    const page = await startWebServer((_, response) => void response.writeHead(200, TEXT).end("the page"));
    const address = `http://127.0.0.1:${proxy.port}`;
    const env = {
      NODE_USE_ENV_PROXY: "1",
      HTTP_PROXY: address,
      http_proxy: address,
      HTTPS_PROXY: address,
      ALL_PROXY: address,
      NO_PROXY: "",
    };
    expect(await child(env, "http://10.0.0.1/")).toContain("TOOL_REFUSED: 10.0.0.1 is refused");
    expect(await child(env, `http://localhost:${page.port}/`)).toContain("TOOL_REFUSED: localhost is refused");
    expect(await child(env, `http://127.0.0.1:${page.port}/`, "127.0.0.1")).toContain("the page");
    expect(proxy.asked).toEqual([]);
  });
});

describe("web_fetch is bounded", () => {
  /** Writes `chunk` for as long as somebody reads. */
  const endless = (response: ServerResponse, chunk: string | Buffer) => {
    const write = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", write);
    write();
  };

  it.each<[string, Record<string, string>, string | Buffer]>([
    ["a page of 1 GB", { "content-length": String(1024 ** 3) }, Buffer.alloc(65_536, "a")],
    ["chunks without end", {}, "tiny "],
  ])("%s is read up to the bound, and the connection ends", async (_, headers, chunk) => {
    const closed = Promise.withResolvers<void>();
    const { fetch, server } = await attack((request, response) => {
      request.socket.once("close", () => closed.resolve());
      response.writeHead(200, { ...TEXT, ...headers });
      endless(response, chunk);
    });
    expect(await fetch("http://large.example/")).toContain("only its first 1048576 bytes were read)");
    await closed.promise;
    expect(server.written()).toBeLessThan(64 * 1024 * 1024);
  });

  const zeros = Buffer.alloc(64 * 1024 * 1024, " ");
  it.each<[string, () => Buffer]>([
    // A gigabyte, as sixteen parts of one stream.
    ["gzip", () => Buffer.concat(new Array<Buffer>(16).fill(gzipSync(zeros)))],
    ["br", () => brotliCompressSync(zeros, { params: { [zlib.BROTLI_PARAM_QUALITY]: 1 } })],
    ["zstd", () => zstdCompressSync(zeros)],
  ])("a bomb of %s is unpacked up to the bound", async (encoding, bomb) => {
    const { fetch } = await attack(
      (_, response) => void response.writeHead(200, { ...TEXT, "content-encoding": encoding }).end(bomb()),
    );
    expect(await fetch("http://bomb.example/")).toContain("only its first 1048576 bytes were read)");
  });

  it("zstd with a window of 128 MB is refused", async () => {
    const body = zstdCompressSync(Buffer.alloc(1024, "a"), { params: { [zlib.ZSTD_c_windowLog]: 27 } });
    // Without its length a frame says how large the window is.
    const frame = Buffer.concat([
      body.subarray(0, 4),
      Buffer.from([0x00, 0x88]),
      Buffer.from([0x0b, 0, 0]),
      Buffer.from("a"),
    ]);
    const { fetch } = await attack(
      (_, response) => void response.writeHead(200, { ...TEXT, "content-encoding": "zstd" }).end(frame),
    );
    expect(await fetch("http://window.example/")).toBe("TOOL_FAILED: The answer's compression is broken.");
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ["never answers", () => undefined],
    [
      "sends one byte after the other (slow loris)",
      (response) => {
        response.writeHead(200, TEXT);
        const timer = setInterval(() => response.write("a"), 20);
        response.once("close", () => clearInterval(timer));
      },
    ],
  ])("a server that %s", async (_, answer) => {
    const { fetch } = await attack((_request, response) => answer(response), { timeoutMs: 300 });
    expect(await fetch("http://slow.example/")).toBe("TOOL_TIMEOUT: There was no whole answer within 0.3 s.");
  });

  it("a head without end", async () => {
    const { fetch } = await attack((request) => {
      const { socket } = request;
      socket.write("HTTP/1.1 200 OK\r\n");
      const timer = setInterval(() => socket.write(`x: ${"a".repeat(8_000)}\r\n`), 1);
      socket.once("close", () => clearInterval(timer));
    });
    expect(await fetch("http://head.example/")).toBe(
      "TOOL_FAILED: The answer is no valid HTTP (UND_ERR_HEADERS_OVERFLOW).",
    );
  });

  it("HTML that keeps a parser busy ends its thread, and nothing else", async () => {
    const html = createHtmlReader(200);
    const busy = `${"<b><p>".repeat(20_000)}x`;
    const { signal } = new AbortController();
    const read = (text: string) => html.read({ kind: "page", html: text, url: "http://a.example/" }, signal);
    await expect(read(busy)).rejects.toMatchObject({ code: "TOOL_FAILED" });
    const stop = new AbortController();
    const stopped = createHtmlReader().read({ kind: "page", html: busy, url: "http://a.example/" }, stop.signal);
    stop.abort(new Error("stopped"));
    await expect(stopped).rejects.toThrow("stopped");
    const again = createHtmlReader().read({ kind: "page", html: "<p>fine", url: "http://a.example/" }, signal);
    await expect(again).resolves.toMatchObject({ text: "fine" });
  });

  it("HTML that is nested without end is an error", async () => {
    const { fetch } = await attack(
      (_, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<div>".repeat(50_000)),
      {},
      {},
      createHtmlReader(500),
    );
    expect(await fetch("http://deep.example/")).toMatch(/^TOOL_FAILED: The page's HTML cannot be read: /);
  });
});
