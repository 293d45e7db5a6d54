/** The commands of the pages, executed in their order by a shell: each page in a home in which a node has just been started. */

import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";
import { CAIRN } from "../support/commands.ts";
import { NO_MODEL_SERVERS } from "../support/no-model-servers.js";
import { blocksOfPage, pages } from "./blocks.ts";

/** Where the pages say that a node listens. */
const ADDRESS = "127.0.0.1:7433";

/** `cairn` of the pages. Doctor ends with 1 where it finds something, as it may of the machine of a test. */
const PROGRAM = `#!/bin/sh
"${process.execPath}" "${CAIRN}" "$@"
code=$?
[ "$1" = doctor ] && [ $code -eq 1 ] && exit 0
exit $code
`;

describe("the commands of a page", { concurrent: false }, () => {
  let home: string;
  let tree: string;
  let env: Record<string, string>;

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), "cairn-pages-"));
    tree = join(home, "tree");
    await mkdir(join(home, "bin"));
    await mkdir(tree);
    await writeFile(join(home, "bin", "cairn"), PROGRAM);
    await chmod(join(home, "bin", "cairn"), 0o755);
    // A copy of the source tree, as far as `npm run` looks.
    for (const name of ["package.json", "scripts"]) await symlink(join(ROOT, name), join(tree, name));
    // What `npm install` of a plugin's author brings.
    await mkdir(join(tree, "node_modules"));
    await symlink(ROOT, join(tree, "node_modules", "cairn-agents"));
    for (const name of ["typescript", "@types", ".bin"]) {
      await symlink(join(ROOT, "node_modules", name), join(tree, "node_modules", name));
    }
    env = {
      PATH: [join(home, "bin"), process.env["PATH"] ?? ""].join(delimiter),
      HOME: home,
      SERVICE_LISTEN: "127.0.0.1:0",
      ...NO_MODEL_SERVERS,
    };
    // A machine that runs tests may be busy.
    await shell("cairn init --yes\ncairn start --detach --timeout 240");
    env["CAIRN_TOKEN"] = (await shell("cairn token create a-page --scope agent")).trim();
  });

  afterEach(async () => {
    await shell("cairn stop").catch(() => undefined);
    await rm(home, { recursive: true, force: true });
  });

  async function shell(commands: string): Promise<string> {
    const { stdout } = await execa("/bin/sh", ["-e", "-c", commands], {
      cwd: tree,
      env,
      extendEnv: false,
      stdin: "ignore",
    });
    return stdout;
  }

  async function address(): Promise<string> {
    const { url } = JSON.parse(await readFile(join(home, ".cairn", "run", "node.json"), "utf8"));
    return new URL(url).host;
  }

  it.each(pages().filter((page) => blocksOfPage(page).some(({ notRun }) => notRun === null)))("%s", async (page) => {
    for (const { line, commands, notRun } of blocksOfPage(page)) {
      if (notRun !== null) continue;
      const typed = commands.includes(ADDRESS) ? commands.replaceAll(ADDRESS, await address()) : commands;
      await shell(typed).catch((error: unknown) => {
        throw new Error(`${page}, line ${line}: ${error instanceof Error ? error.message : error}`);
      });
    }
    expect(await readFile(join(home, ".cairn", "cairn.yaml"), "utf8")).toContain("main");
  });
});
