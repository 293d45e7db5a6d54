/** For tests against a real Docker engine: names of their own, a small image that stands in for a node, and cleaning up. */

import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";

/** Standard output; throws with Docker's words. */
export async function docker(...args: readonly string[]): Promise<string> {
  return (await execa("docker", [...args])).stdout;
}

export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(4).toString("hex")}`;
}

/** Everything of a stack that a test may have left, by its label and by the network's name. */
export async function removeStack(stack: string): Promise<void> {
  const label = `label=cairn.stack=${stack}`;
  const lines = async (...args: readonly string[]) => (await docker(...args)).split("\n").filter((line) => line !== "");
  const containers = await lines("container", "ls", "--all", "--quiet", "--filter", label);
  if (containers.length > 0) await docker("container", "rm", "--force", "--volumes", ...containers);
  const volumes = await lines("volume", "ls", "--quiet", "--filter", label);
  if (volumes.length > 0) await docker("volume", "rm", ...volumes);
  const networks = await lines("network", "ls", "--quiet", "--filter", label);
  if (networks.length > 0) await docker("network", "rm", ...networks);
}

const SERVER = `
const { appendFileSync, readFileSync } = require("node:fs");
const { createServer } = require("node:http");
appendFileSync("/var/lib/cairn/starts", "x");
const read = (path) => { try { return readFileSync(path, "utf8"); } catch (error) { return error.code; } };
const writes = (path) => { try { appendFileSync(path, ""); return true; } catch { return false; } };
const state = () => ({
  starts: read("/var/lib/cairn/starts").length,
  env: read("/etc/cairn/.env"),
  configuration: read("/etc/cairn/cairn.yaml"),
  empty: read("/etc/cairn/seed/workspace/EMPTY.md"),
  status: read("/proc/self/status"),
  writable: ["/x", "/etc/cairn/cairn.yaml", "/tmp/x", "/srv/cairn/x", "/run/x"].filter(writes),
  environment: process.env,
});
createServer((request, response) => response.end(request.url === "/health/ready" ? "ok" : JSON.stringify(state()))).listen(7433);
process.on("SIGTERM", () => process.exit(0));
`;
const PROBE = `fetch("http://127.0.0.1:7433/health/ready").then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1));\n`;

/** Id of an image that answers as a node does, and tells what it sees of its container. Made once. */
export async function standInImage(base: string): Promise<string> {
  const recipe = [
    `FROM ${base}`,
    "COPY server.js health-probe.js /opt/cairn/dist/runtime/",
    "RUN mkdir -p /var/lib/cairn /srv/cairn /srv/shared && chown 1000:0 /var/lib/cairn /srv/cairn /srv/shared",
    "USER 1000:0",
    'ENTRYPOINT ["node", "/opt/cairn/dist/runtime/server.js"]',
    "",
  ].join("\n");
  const hash = createHash("sha256").update(recipe).update(SERVER).update(PROBE).digest("hex").slice(0, 12);
  const name = `cairn-test/stand-in:${hash}`;
  const context = await mkdtemp(join(tmpdir(), "cairn-stand-in-"));
  try {
    await writeFile(join(context, "Dockerfile"), recipe);
    await writeFile(join(context, "server.js"), SERVER);
    await writeFile(join(context, "health-probe.js"), PROBE);
    await docker("build", "--quiet", "--tag", name, context);
    return await docker("image", "inspect", "--format", "{{.Id}}", name);
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}

/** Id of an image of the same form that runs this script of Node instead. */
export async function failingImage(base: string, script: string): Promise<string> {
  const standIn = await docker("image", "inspect", "--format", "{{index .RepoTags 0}}", await standInImage(base));
  const context = await mkdtemp(join(tmpdir(), "cairn-failing-"));
  const name = `cairn-test/failing:${createHash("sha256").update(standIn).update(script).digest("hex").slice(0, 12)}`;
  try {
    await writeFile(
      join(context, "Dockerfile"),
      `FROM ${standIn}\nCOPY failing.js /opt/cairn/failing.js\nENTRYPOINT ["node", "/opt/cairn/failing.js"]\n`,
    );
    await writeFile(join(context, "failing.js"), script);
    await docker("build", "--quiet", "--tag", name, context);
    return await docker("image", "inspect", "--format", "{{.Id}}", name);
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}
