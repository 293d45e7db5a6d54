/** `cairn-agents/client` as others install it: alone, with Node's own modules and nothing else. */

import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** Keeps a batch, and tells which modules were loaded. */
const PROGRAM = `
import { registerHooks } from "node:module";
const loaded = new Set();
registerHooks({ resolve: (specifier, context, next) => { const found = next(specifier, context); loaded.add(found.url); return found; } });
const { createCaptureClient, createClient } = await import("cairn-agents/client");
const client = createCaptureClient({ baseUrl: "http://127.0.0.1:1", token: "t", spoolDirectory: process.argv[2] });
const events = [{ event_id: "1", role: "user", content: "hi" }];
const { deliveries } = await client.send({ session_key: "s", agent: "a", channel: "c", events });
console.log(JSON.stringify({ outcome: deliveries[0].outcome, waiting: (await client.status()).waiting, loaded: [...loaded], other: typeof createClient }));
`;

it("needs no package, and loads nothing but its own files and Node's modules", async () => {
  const directory = await mkdtemp(join(tmpdir(), "cairn-client-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const installed = join(directory, "node_modules", "cairn-agents");
  await mkdir(join(installed, "dist"), { recursive: true });
  await cp(join(ROOT, "package.json"), join(installed, "package.json"));
  await cp(join(ROOT, "dist", "runtime"), join(installed, "dist", "runtime"), { recursive: true });
  await writeFile(join(directory, "program.mjs"), PROGRAM);
  const argv = [join(directory, "program.mjs"), join(directory, "spool")];
  const { stdout } = await promisify(execFile)(process.execPath, argv, { cwd: directory });
  const { loaded, ...said } = JSON.parse(stdout) as { readonly loaded: readonly string[] };
  expect(said).toEqual({ outcome: "spooled", waiting: 1, other: "function" });
  const foreign = loaded.filter(
    (url) => !/^node:|\/cairn-agents\/dist\/runtime\/(client|contracts|domain|files)\//.test(url),
  );
  expect(foreign).toEqual([]);
});
