/**
 * A registry of images on loopback, in memory: as much of the OCI distribution protocol as an engine needs to push and pull,
 * behind a name and a password. Engines speak plain HTTP to loopback.
 */

import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export interface TestRegistry {
  /** `127.0.0.1:<port>`. */
  readonly server: string;
  readonly username: string;
  readonly password: string;
  /** Digest of what a repository has under a tag. */
  digest(repository: string, tag: string): string | undefined;
  close(): Promise<void>;
}

interface Stored {
  readonly type: string;
  readonly content: Buffer;
}

type Route = (match: readonly string[], request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>;

export async function startRegistry(): Promise<TestRegistry> {
  const username = "somebody";
  const password = `secret-${randomUUID()}`;
  const expected = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  const blobs = new Map<string, Buffer>();
  const uploads = new Map<string, Buffer[]>();
  /** `repository:tag` and `repository:sha256:...`. */
  const manifests = new Map<string, Stored>();

  const routes: readonly (readonly [method: string, path: RegExp, route: Route])[] = [
    ["GET", /^\/v2\/$/, async (_match, _request, response) => void response.end("{}")],
    [
      "POST",
      /^\/v2\/(.+)\/blobs\/uploads\/$/,
      async ([, name], _request, response) => {
        const id = randomUUID();
        uploads.set(id, []);
        response.writeHead(202, { location: `/v2/${name}/blobs/uploads/${id}`, range: "0-0" }).end();
      },
    ],
    [
      "PATCH",
      /^\/v2\/(.+)\/blobs\/uploads\/(.+)$/,
      async ([path, , id = ""], request, response) => {
        uploads.get(id)?.push(await buffer(request));
        const length = Buffer.concat(uploads.get(id) ?? []).length;
        response.writeHead(202, { location: path, range: `0-${length - 1}` }).end();
      },
    ],
    [
      "PUT",
      /^\/v2\/(.+)\/blobs\/uploads\/(.+)$/,
      async ([, name, id = ""], request, response, url) => {
        const content = Buffer.concat([...(uploads.get(id) ?? []), await buffer(request)]);
        uploads.delete(id);
        const digest = digestOf(content);
        if (digest !== url.searchParams.get("digest")) return void response.writeHead(400).end();
        blobs.set(digest, content);
        response.writeHead(201, { location: `/v2/${name}/blobs/${digest}`, "docker-content-digest": digest }).end();
      },
    ],
    [
      "GET",
      /^\/v2\/.+\/blobs\/(sha256:.+)$/,
      async ([, digest = ""], request, response) => {
        const content = blobs.get(digest);
        answer(request, response, content && { type: "application/octet-stream", content });
      },
    ],
    [
      "PUT",
      /^\/v2\/(.+)\/manifests\/(.+)$/,
      async ([, name, reference], request, response) => {
        const stored = { type: request.headers["content-type"] ?? "", content: await buffer(request) };
        const digest = digestOf(stored.content);
        manifests.set(`${name}:${reference}`, stored);
        manifests.set(`${name}:${digest}`, stored);
        response.writeHead(201, { "docker-content-digest": digest }).end();
      },
    ],
    [
      "GET",
      /^\/v2\/(.+)\/manifests\/(.+)$/,
      async ([, name, reference], request, response) =>
        answer(request, response, manifests.get(`${name}:${reference}`)),
    ],
  ];

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://registry");
    if (request.headers.authorization !== expected) {
      request.resume();
      return void response.writeHead(401, { "www-authenticate": 'Basic realm="test"' }).end();
    }
    const method = request.method === "HEAD" ? "GET" : request.method;
    const found = routes.find(([wanted, path]) => wanted === method && path.test(url.pathname));
    if (found === undefined) return void response.writeHead(404).end();
    await found[2](found[1].exec(url.pathname) ?? [], request, response, url);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A server that listens on an address has an address.
  const { port } = server.address() as AddressInfo;
  return {
    server: `127.0.0.1:${port}`,
    username,
    password,
    digest(repository, tag) {
      const stored = manifests.get(`${repository}:${tag}`);
      return stored && digestOf(stored.content);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(request: IncomingMessage, response: ServerResponse, stored: Stored | undefined): void {
  if (stored === undefined) {
    response.writeHead(404, { "content-type": "application/json" });
    response.end('{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}');
    return;
  }
  response.writeHead(200, {
    "content-type": stored.type,
    "content-length": stored.content.length,
    "docker-content-digest": digestOf(stored.content),
  });
  response.end(request.method === "HEAD" ? undefined : stored.content);
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
