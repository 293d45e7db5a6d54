/** A node as a process of its own: the built service over a deployment directory, started, killed and started again. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import type { ErrorBody } from "../../runtime/contracts/errors.ts";
import { EVENTUALLY_MS } from "../lanes/patience.ts";
import { QUICK_START } from "../lanes/quick-start.ts";
import { environmentOf } from "./commands.ts";
import { placeEmbeddedCopy } from "./databases.ts";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** The built service: what is installed is what is tested. */
export const MAIN = join(ROOT, "dist", "runtime", "main.js");
export const TOKEN = "cairn_test_0123456789abcdefghijklmnopqrstuvwxyz";

export interface DeploymentSpec {
  /** cairn.yaml as a value. */
  readonly config: object;
  readonly env?: Readonly<Record<string, string>>;
}

export interface Deployment {
  readonly dir: string;
  readonly home: string;
  readonly workspace: string;
  remove(): Promise<void>;
}

/** A deployment directory with its own home, in which the embedded store, where it is there, is made already; listens on a free port. */
export async function createDeployment({ config, env = {} }: DeploymentSpec): Promise<Deployment> {
  const dir = await mkdtemp(join(tmpdir(), "cairn-e2e-"));
  const workspace = join(dir, "workspace");
  await mkdir(workspace);
  const home = join(dir, "home");
  await mkdir(home, { mode: 0o700 });
  if (!hasStoreElsewhere(config)) await placeEmbeddedCopy(join(home, "store"));
  await writeFile(join(dir, "cairn.yaml"), stringify({ version: 1, ...config }));
  const lines = Object.entries({ SERVICE_API_TOKEN: TOKEN, ...env }).map(([name, value]) => `${name}='${value}'\n`);
  await writeFile(join(dir, ".env"), lines.join(""));
  await chmod(join(dir, ".env"), 0o600);
  return { dir, home, workspace, remove: () => rm(dir, { recursive: true, force: true }) };
}

function hasStoreElsewhere(config: object): boolean {
  const memory: unknown = Reflect.get(config, "memory");
  const { postgres, embedded } = Object(memory) as { postgres?: unknown; embedded?: { path?: unknown } };
  return postgres !== undefined || embedded?.path !== undefined;
}

export interface NodeProcess {
  readonly pid: number;
  readonly url: string;
  /** Standard output and error so far. */
  output(): string;
  signal(signal: NodeJS.Signals): void;
  /** The next message of this type that the process sends over its IPC channel. */
  message(type: string): Promise<void>;
  /** Exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  request(path: string, init?: RequestInit & { readonly json?: unknown }): Promise<Response>;
  /** The `result` of an answer; throws the error body of a failure. */
  call<T>(path: string, json?: unknown, init?: RequestInit): Promise<T>;
}

export interface StartOptions {
  /** The service of another build. */
  readonly main?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeOptions?: readonly string[];
  /** It leads a process group, which can be killed as a whole. */
  readonly ownGroup?: boolean;
  /** `listening` returns while the database may still be unavailable. */
  readonly until?: "ready" | "listening";
}

export class StartFailed extends Error {
  readonly error: ErrorBody;
  constructor(error: ErrorBody) {
    super(error.message);
    this.error = error;
  }
}

/** Resolves when the node is ready; StartFailed with what it said when it could not start. */
export async function startNode(deployment: Deployment, options: StartOptions = {}): Promise<NodeProcess> {
  const child = spawn(
    process.execPath,
    [
      ...QUICK_START,
      ...(options.nodeOptions ?? []),
      options.main ?? MAIN,
      "--dir",
      deployment.dir,
      ...(options.args ?? []),
    ],
    {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      detached: options.ownGroup ?? false,
      env: {
        ...environmentOf(deployment),
        SERVICE_LISTEN: "127.0.0.1:0",
        ...options.env,
      },
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, "exit").then(([code, signal]): number | NodeJS.Signals => signal ?? code ?? -1);
  const url = await (options.until === "listening"
    ? listening(child, deployment, () => output)
    : ready(child, exited, () => output));
  const request: NodeProcess["request"] = (path, { json, ...init } = {}) =>
    fetch(new URL(path, url), {
      ...(json === undefined ? {} : { method: "POST", body: JSON.stringify(json) }),
      ...init,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...(init.headers as Record<string, string> | undefined),
      },
    });
  return {
    pid: child.pid ?? -1,
    url,
    output: () => output,
    signal: (signal) => void child.kill(signal),
    message: (type) =>
      new Promise((resolve) => {
        child.on("message", (message: { type: string }) => {
          if (message.type === type) resolve();
        });
      }),
    exited,
    request,
    async call<T>(path: string, json?: unknown, init?: RequestInit): Promise<T> {
      const response = await request(path, { ...init, ...(json === undefined ? {} : { json }) });
      const body = (await response.json()) as { ok: true; result: T } | { ok: false; error: ErrorBody };
      if (!body.ok) throw Object.assign(new Error(body.error.message), { ...body.error, status: response.status });
      return body.result;
    },
  };
}

async function ready(child: ChildProcess, exited: Promise<unknown>, output: () => string): Promise<string> {
  const announced = new Promise<string>((resolve, reject) => {
    child.on("message", (message: { type: string; url?: string; error?: ErrorBody }) => {
      if (message.type === "ready" && message.url) resolve(message.url);
      if (message.type === "failed" && message.error) reject(new StartFailed(message.error));
    });
  });
  const died = exited.then((code) => {
    throw new Error(`the node ended (${String(code)}) before it was ready:\n${output()}`);
  });
  return withDeadline(Promise.race([announced, died]), child, output);
}

async function listening(child: ChildProcess, _deployment: Deployment, output: () => string): Promise<string> {
  const seen = (async () => {
    for (;;) {
      const match = /Server listening at (http:\/\/[^"\s]+)/.exec(output());
      if (match?.[1]) return match[1];
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  return withDeadline(seen, child, output);
}

async function withDeadline<T>(work: Promise<T>, child: ChildProcess, output: () => string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    child.kill("SIGKILL");
    reject(new Error(`the node was not ready within ${EVENTUALLY_MS} ms:\n${output()}`));
  }, EVENTUALLY_MS);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
