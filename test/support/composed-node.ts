/** A whole node in the test's own process: the composition root over a deployment directory, reached by HTTP alone. */

import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { stringify } from "yaml";
import type { Database } from "../../runtime/contracts/database.ts";
import { createPostgresCopy, placeEmbeddedCopy } from "./databases.ts";
import { temporaryDirectory } from "./deployment.ts";
import { OWNER_ENV, startedHost } from "./started-host.ts";

export interface ComposedNodeSpec {
  readonly store: Database["backend"];
  /** cairn.yaml as a value, without `version` and `memory`. */
  readonly config: object;
  /** Files of the workspace, by name. */
  readonly workspace?: Readonly<Record<string, string>>;
}

/** The fields that tests read, whatever the route; others are looked at as unknown values. */
interface Body {
  readonly ok?: boolean;
  readonly result: Readonly<Record<"id" | "token" | "text" | "turn_id", string>>;
  readonly error?: { readonly code: string };
}

export interface Answer {
  readonly status: number;
  readonly body: Body;
}

export type ComposedNode = Awaited<ReturnType<typeof composedNode>>;

/** Ends with the test. */
export async function composedNode({ store, config, workspace = {} }: ComposedNodeSpec) {
  const dir = join(await temporaryDirectory(), "deployment");
  const files = join(dir, "workspace");
  const home = join(dir, "home");
  await mkdir(files, { recursive: true });
  await mkdir(home, { mode: 0o700 });
  for (const [name, text] of Object.entries(workspace)) await writeFile(join(files, name), text);
  await writeFile(join(dir, "cairn.yaml"), stringify({ version: 1, ...config, memory: await memory(store, home) }));
  await writeFile(join(dir, ".env"), OWNER_ENV);
  await chmod(join(dir, ".env"), 0o600);
  const { request, url, stop } = await startedHost({ dir });

  const call = async (path: string, body?: object, token?: string, method?: string): Promise<Answer> => {
    const response = await request(path, body, token, method);
    const text = await response.text();
    return { status: response.status, body: JSON.parse(text) };
  };
  return {
    dir,
    url,
    stop,
    home,
    workspace: files,
    call,
    /** A new token; the owner's makes it. */
    async token(name: string, ...scopes: readonly string[]): Promise<{ readonly id: string; readonly token: string }> {
      return (await call("/api/admin/tokens", { name, scopes })).body.result;
    },
    /** The reply's text, or the error's code. */
    async say(text: string, token?: string, more: object = {}): Promise<string> {
      const { body } = await call("/api/agents/main/messages", { session: "s", text, ...more }, token);
      return body.error ? body.error.code : body.result.text;
    },
    command: (command: string, token?: string, more: object = {}) =>
      call("/api/agents/main/commands", { session: "s", command, ...more }, token),
  };
}

async function memory(store: Database["backend"], home: string): Promise<object> {
  if (store === "postgres") {
    const copy = await createPostgresCopy(process.env["CAIRN_TEST_PG_URL"] ?? "");
    onTestFinished(copy.remove);
    return { postgres: { connection_string: copy.url } };
  }
  await placeEmbeddedCopy(join(home, "store"));
  return {};
}
