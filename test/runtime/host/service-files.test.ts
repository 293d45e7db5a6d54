/** The service's own files stay its own where a workspace is around them: by the file tools and by the shell's sandbox. */

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { inspectConfig } from "../../../runtime/config/index.ts";
import { serviceFiles } from "../../../runtime/host/service-files.ts";
import { createFileEditTool } from "../../../runtime/plugins/tools/file-edit/index.ts";
import { createFileReadTool } from "../../../runtime/plugins/tools/file-read/index.ts";
import { createFileWriteTool } from "../../../runtime/plugins/tools/file-write/index.ts";
import { createWorkspaceGate } from "../../../runtime/plugins/tools/shared/locate.ts";
import { createShellTool } from "../../../runtime/plugins/tools/shell/index.ts";
import { SHELL_DEFAULTS } from "../../../runtime/plugins/tools/shell/settings.ts";
import { lacks } from "../../lanes/tools.ts";
import { bareEnvironment, temporaryDirectory } from "../../support/deployment.ts";
import { call, newId, quietLogger } from "../plugins/tools/support.ts";

const SECRET = "kept-by-the-service";
const YAML = `version: 1
runtime: { workspace: WORKSPACE, tls: { cert: tls/cert.pem, key: tls/key.pem } }
agents: { main: {} }
providers: { offline: {} }
plugin_dirs: [plugins]
`;
const FILES = [
  ...["infra/.passphrase", "infra/state/stack.json", "tls/key.pem", ".env", "plugins/weather/index.js"],
  ...["node.key", "credentials/openai.json", "capture/main/token", "attachments/a/b", "logs/audit/today.jsonl"].map(
    (name) => `home/${name}`,
  ),
];

/** A deployment with all of its files, and the tools of an agent whose workspace is given relative to it. */
async function deployment(workspace: string, home = "home", folder = "") {
  const dir = join(await temporaryDirectory(), folder, "deployment");
  for (const name of FILES) {
    const path = join(dir, home === "." ? name.replace(/^home\//, "") : name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, name === ".env" ? `TOKEN=${SECRET}\n` : SECRET, { mode: 0o600 });
  }
  await writeFile(join(dir, "cairn.yaml"), `${YAML.replace("WORKSPACE", workspace)}# ${SECRET}\n`);
  const { loaded } = await inspectConfig({ dir, home: join(dir, home), env: bareEnvironment() });
  if (loaded === null) throw new Error("the configuration of the test is not valid");
  const protectedPaths = serviceFiles(loaded);
  const gate = createWorkspaceGate({ protectedPaths });
  const place = { workspace: loaded.config.runtime.workspace };
  const shell = createShellTool({
    ...{ gate, protectedPaths, stateDirectory: loaded.home, newId, container: false, logger: quietLogger },
    ...{ settings: { ...SHELL_DEFAULTS, sandbox: "bubblewrap" as const }, hostEnv: process.env },
  });
  const names = [...FILES, "cairn.yaml"].map((name) => (home === "." ? name.replace(/^home\//, "") : name));
  return {
    dir,
    place,
    names,
    read: (path: string) => call(createFileReadTool({ gate }), place, { path }),
    write: (path: string) => call(createFileWriteTool({ gate, newId }), place, { path, content: "changed" }),
    edit: (path: string) =>
      call(createFileEditTool({ gate, newId }), place, { path, old_string: SECRET, new_string: "changed" }),
    run: (command: string) => call(shell, place, { command }),
  };
}

describe.each([
  ["the deployment directory itself", ".", "home"],
  ["the directory around it", "..", "home"],
  ["the deployment directory, which is the home too", ".", "."],
])("where the workspace is %s", (_, workspace, home) => {
  it("the file tools open none of the service's files", async () => {
    const { dir, names, read, write, edit } = await deployment(workspace, home);
    for (const name of names) {
      const path = join(dir, name);
      for (const result of [await read(path), await write(path), await edit(path)]) {
        expect([name, result.content]).toEqual([name, expect.stringMatching(/^TOOL_REFUSED/)]);
        expect(result.content).not.toContain(SECRET);
      }
      expect(await readFile(path, "utf8")).toContain(SECRET);
    }
    for (const made of ["infra/Pulumi.yaml", ".env.d/../infra/new"])
      expect((await write(join(dir, made))).content).toMatch(/^TOOL_REFUSED/);
  });

  it.skipIf(lacks("bubblewrap"))("commands see none of them in the sandbox", async () => {
    const { dir, names, run } = await deployment(workspace, home);
    for (const name of names) {
      const path = join(dir, name);
      const { content } = await run(
        `cat '${path}'; echo changed > '${path}'; mv '${path}' '${path}.moved'; cat '${path}.moved'`,
      );
      expect(content).not.toContain(SECRET);
      expect(await readFile(path, "utf8")).toContain(SECRET);
    }
    expect((await run(`grep -r ${SECRET} . 2>/dev/null | head`)).content).not.toMatch(/:.*kept-by/);
  });

  it.skipIf(lacks("bubblewrap"))("commands run in the sandbox", async () => {
    const { run } = await deployment(workspace, home);
    expect((await run("echo kept > notes.md && cat notes.md")).content).toBe("exit code: 0\nkept");
  });
});

it.skipIf(lacks("bubblewrap"))(
  "a directory between the workspace and the deployment stays where the next command's covers look for it",
  async () => {
    const { dir, run } = await deployment("../../..", "home", "deep/deeper");
    const moved = await run(
      "mv deep moved; mv deep/deeper deep/moved; mv deep/deeper moved; rmdir deep/deeper; ls -d deep/deeper",
    );
    expect(moved.content.match(/busy/g)?.length, moved.content).toBe(4);
    const all = await run(
      `cat moved/deeper/deployment/.env deep/moved/deployment/.env moved/deployment/.env; grep -r ${SECRET} .`,
    );
    expect(all.content).not.toContain(`TOKEN=${SECRET}`);
    expect(await readFile(join(dir, ".env"), "utf8")).toContain(SECRET);
    expect(
      (await run("echo kept > deep/deeper/notes.md && mkdir deep/other && cat deep/deeper/notes.md")).content,
    ).toBe("exit code: 0\nkept");
  },
);

it.skipIf(lacks("bubblewrap"))("a workspace in its usual place is worked in as ever", async () => {
  const { dir, read, run } = await deployment("workspace");
  await mkdir(join(dir, "workspace", "infra"), { recursive: true });
  await writeFile(join(dir, "workspace", "infra", "cairn.yaml"), "an own file");
  expect((await read("infra/cairn.yaml")).content).toContain("an own file");
  expect((await run("cat infra/cairn.yaml")).content).toContain("an own file");
});
