/** What of a deployment is in its backup, and that nothing of a home is forgotten by both lists. */

import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { contentsOf, HOME_KEPT, HOME_OMITTED } from "../../../control/backup/contents.ts";
import type { LeftOut } from "../../../control/backup/manifest.ts";
import { walk } from "../../../control/backup/walk.ts";
import { loadConfig } from "../../../runtime/config/index.ts";
import { homePaths } from "../../../runtime/host/home.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const signal = new AbortController().signal;

/** Names of the entries, and what is left out. */
async function namesOf(dir: string, home: string): Promise<{ names: string[]; leftOut: LeftOut[] }> {
  const { config } = await loadConfig({ dir, home, env: { HOME: dir } });
  const { sources, passed, leftOut } = await contentsOf({
    dir,
    home,
    config,
    file: join(dir, "workspace", "own.tar.age"),
  });
  const names: string[] = [];
  const all: LeftOut[] = [...leftOut];
  for (const source of sources) {
    const leaveOut = (path: string, reason: string): void => void all.push({ path, reason });
    for await (const { entry, content } of walk(source, { passed, leaveOut, signal })) {
      if (content !== null) for await (const _ of content);
      if (entry.type !== "directory") names.push(entry.name);
    }
  }
  return { names: names.sort(), leftOut: all };
}

async function write(root: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), text, { mode: 0o600 });
  }
}

const MINIMAL = "version: 1\nagents: { main: { provider: offline } }\nproviders: { offline: {} }\n";

describe("the lists of a home", () => {
  it("name whatever a node keeps in it", () => {
    const listed = [...HOME_KEPT, ...HOME_OMITTED].map((name) => name.split("/")[0]);
    const { home: _, ...paths } = homePaths("/h");
    const kept = Object.values(paths).map((path) => path.split("/")[2]);
    expect([...new Set(kept)].filter((name) => !listed.includes(name))).toEqual([]);
  });
});

describe("the contents of a backup", () => {
  it("are what cairn.yaml refers to beside it, and what the home keeps, wherever that lies", async () => {
    const dir = await temporaryDirectory();
    await write(dir, {
      "cairn.yaml": `${MINIMAL}skill_dirs: [skills]\nplugin_dirs: [/nowhere/else, ${dir}/../elsewhere]\n`,
      ".env": "",
      "workspace/SOUL.md": "x",
      "workspace/own.tar.age": "the backup itself",
      "skills/tea/SKILL.md": "x",
      "infra/state/.pulumi/stack.json": "{}",
      "infra/.passphrase": "x",
      "infra/.lock": "",
      "infra/node_modules/x/index.js": "",
      "backups/old.tar.age": "x",
      "README.md": "of the repository",
      ".cairn/node.key": "k",
      ".cairn/tls.key": "k",
      ".cairn/tls.pem": "what the next start writes",
      ".cairn/store/data/PG_VERSION": "18",
      ".cairn/logs/cairn.log": "x",
      ".cairn/logs/audit/2030-01-01.jsonl": "x",
      ".cairn/workspaces/main/ada/USER.md": "x",
    });
    await write(join(dir, ".."), { "elsewhere/plugin.js": "x" });
    const { names, leftOut } = await namesOf(dir, join(dir, ".cairn"));
    expect(names).toEqual([
      "directory/.env",
      "directory/cairn.yaml",
      "directory/infra/.passphrase",
      "directory/infra/state/.pulumi/stack.json",
      "directory/skills/tea/SKILL.md",
      "directory/workspace/SOUL.md",
      "home/logs/audit/2030-01-01.jsonl",
      "home/node.key",
      "home/tls.key",
      "home/workspaces/main/ada/USER.md",
    ]);
    expect(leftOut).toEqual([
      { path: join(dir, "..", "elsewhere"), reason: "it lies outside of the deployment directory and the home" },
    ]);
  });

  it("have each file once where the home is the directory itself, and the workspace around both", async () => {
    const dir = await temporaryDirectory();
    await write(dir, {
      "cairn.yaml": `${MINIMAL}runtime: { workspace: . }\n`,
      ".env": "",
      "SOUL.md": "x",
      "node.key": "k",
      "credentials/a.json": "{}",
      "store/data/PG_VERSION": "18",
      "store.moved-20300131T000000Z/data/PG_VERSION": "18",
      "run/node.lock": "",
    });
    const { names } = await namesOf(dir, dir);
    expect(names).toEqual([
      "directory/.env",
      "directory/SOUL.md",
      "directory/cairn.yaml",
      "home/credentials/a.json",
      "home/node.key",
    ]);
  });

  it("have a package of a plugin once, wherever the home lies", async () => {
    const dir = await temporaryDirectory();
    for (const home of [dir, join(dir, ".cairn")]) {
      const path = join(home, "plugin-packages/sky@1.0.0");
      await write(dir, { "cairn.yaml": `${MINIMAL}plugin_dirs: [${path}]\n` });
      await write(path, { "index.js": "x", ".cairn-package.json": "{}" });
      expect((await namesOf(dir, home)).names).toEqual([
        "directory/cairn.yaml",
        "home/plugin-packages/sky@1.0.0/.cairn-package.json",
        "home/plugin-packages/sky@1.0.0/index.js",
      ]);
    }
  });

  it("have working directories of MCP servers, session files and certificates of PostgreSQL, or name them", async () => {
    const dir = await temporaryDirectory();
    await write(dir, {
      "cairn.yaml":
        MINIMAL +
        "mcp: { servers: { a: { command: x, cwd: notes }, b: { command: x, cwd: . } } }\n" +
        "memory:\n  session_roots: [sessions]\n" +
        `  postgres: { connection_string: "postgres://u@h/d?sslrootcert=${dir}/ca.pem&sslkey=key.pem&sslcert=${dir}/../c.pem" }\n`,
      "notes/data": "x",
      "sessions/one.jsonl": "x",
      "ca.pem": "x",
      "key.pem": "x",
      "README.md": "of the repository",
    });
    await write(join(dir, ".."), { "c.pem": "x" });
    const { names, leftOut } = await namesOf(dir, join(dir, ".cairn"));
    expect(names).toEqual([
      "directory/ca.pem",
      "directory/cairn.yaml",
      "directory/key.pem",
      "directory/notes/data",
      "directory/sessions/one.jsonl",
    ]);
    expect(leftOut).toEqual([
      { path: dir, reason: "it is around cairn.yaml itself" },
      { path: join(dir, "..", "c.pem"), reason: "it lies outside of the deployment directory and the home" },
    ]);
  });

  // macOS has no such names.
  it.runIf(process.platform === "linux")("name a file whose name is no UTF-8", async () => {
    const dir = await temporaryDirectory();
    await write(dir, { "cairn.yaml": MINIMAL, "workspace/SOUL.md": "x" });
    for (const kind of ["file", "folder"]) {
      const path = Buffer.concat([Buffer.from(join(dir, "workspace", kind)), Buffer.from([0xff])]);
      if (kind === "file") await writeFile(path, "x");
      else await mkdir(path);
    }
    const { leftOut } = await namesOf(dir, join(dir, ".cairn"));
    const reason = "its name is no UTF-8";
    expect(leftOut).toEqual(
      ["file", "folder"].map((kind) => ({ path: join(dir, "workspace", `${kind}\uFFFD`), reason })),
    );
  });

  it("follow the operator's own links, and none in a workspace", async () => {
    const dir = await temporaryDirectory();
    await write(join(dir, "real"), { yaml: MINIMAL, "rooms/SOUL.md": "x" });
    await symlink(join(dir, "real", "yaml"), join(dir, "cairn.yaml"));
    await symlink(join(dir, "real", "rooms"), join(dir, "workspace"));
    await symlink("/etc", join(dir, "real", "rooms", "etc"));
    await symlink("SOUL.md", join(dir, "real", "rooms", "alias"));
    const { names, leftOut } = await namesOf(dir, join(dir, ".cairn"));
    expect(names).toEqual(["directory/cairn.yaml", "directory/workspace/SOUL.md", "directory/workspace/alias"]);
    expect(leftOut).toEqual([{ path: join(dir, "workspace", "etc"), reason: "it is a link that leads elsewhere" }]);
  });
});
