/** Auto-actions after the file tools of real turns: real commands, in the real sandbox, and what the model reads of them. */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { v7 as newId } from "uuid";
import { afterEach, expect, it } from "vitest";
import { createBackground } from "../../../../runtime/app/background.ts";
import type { AnyHook } from "../../../../runtime/contracts/hooks.ts";
import { autoActions } from "../../../../runtime/plugins/hooks/auto-actions/manifest.ts";
import { createAuditFile, createAuditLog } from "../../../../runtime/plugins/hooks/safety/index.ts";
import {
  createCommandRunner,
  createWorkspaceGate,
  SHELL_DEFAULTS,
  type ShellSettings,
} from "../../../../runtime/plugins/tools/index.ts";
import { builtInTools } from "../../../support/built-in-tools.ts";
import { describeDatabase, quietLogger } from "../../../support/databases.ts";
import {
  end,
  type Harness,
  type HarnessOptions,
  realClock,
  startHarness,
  text,
  toolCall,
} from "../../../support/turn-harness.ts";

const run = promisify(execFile);
const OFF = { format: false, lint: false, test: false, git_check: false, commit: "off" } as const;
type Settings = Parameters<typeof autoActions.create>[0]["settings"];
/** git in a folder, as a person who has a name. */
const repositoryIn =
  (folder: string) =>
  (...args: string[]) =>
    run("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", ...args]);
const write = (path: string, id = path) => toolCall(id, "file_write", { path, content: `new ${path}\n` });

describeDatabase("auto-actions", (open) => {
  const running: Harness[] = [];
  const folders: string[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
    await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
  });

  async function setUp(
    settings: Partial<Settings>,
    calls: readonly (readonly ReturnType<typeof toolCall>[])[],
    more: {
      readonly shell?: Partial<ShellSettings>;
      readonly protect?: string;
      readonly hooks?: readonly AnyHook[];
    } = {},
  ) {
    const base = await mkdtemp(join(tmpdir(), "cairn-actions-"));
    folders.push(base);
    const workspace = join(base, "workspace");
    const stateDirectory = join(base, "home");
    await Promise.all([mkdir(workspace), mkdir(stateDirectory)]);
    const protectedPaths = [stateDirectory, ...(more.protect ? [join(workspace, more.protect)] : [])];
    const gate = createWorkspaceGate({ protectedPaths });
    const deps = { gate, protectedPaths, stateDirectory, hostEnv: process.env, newId, logger: quietLogger };
    const shell = { ...SHELL_DEFAULTS, ...more.shell };
    const auditFile = createAuditFile({ directory: join(base, "audit"), clock: realClock, logger: quietLogger });
    const background = createBackground(quietLogger);
    const ending = new AbortController();
    const hooks = await autoActions.create({
      background,
      stopping: ending.signal,
      settings: { ...OFF, ...settings },
      runCommand: createCommandRunner({ ...deps, settings: shell, container: false }),
      gate,
      audit: createAuditLog({ file: auditFile, redact: (value) => value.replaceAll("hunter2", "***") }),
      clock: realClock,
      logger: quietLogger,
    });
    const script: HarnessOptions["script"] = ({ messages }) => {
      const from = messages.findLastIndex(({ role }) => role === "user");
      const reply = calls[messages.slice(from).filter(({ role }) => role === "assistant").length];
      return reply ? [...reply, end("tool_calls")] : [text("done"), end()];
    };
    const harness = await startHarness({
      database: await open(),
      script,
      tools: (await builtInTools()).filter(({ name }) => name.startsWith("file_")),
      hooks: [...(more.hooks ?? []), ...hooks],
      agent: { workspace, tools: { others: { include: ["file_write"] } } },
    });
    running.push(harness);
    return {
      harness,
      workspace,
      background,
      /** As where the node stops. */
      stop: () => ending.abort(),
      /** Results of tools that the model has read at last, in their order. */
      results: () =>
        (harness.requests.at(-1)?.messages ?? []).flatMap(({ role, content }) =>
          role === "tool" ? [String(content)] : [],
        ),
      async audited() {
        const [file] = await readdir(join(base, "audit")).catch(() => []);
        const lines = file ? (await readFile(join(base, "audit", file), "utf8")).trim().split("\n") : [];
        return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      },
    };
  }

  it("run once for the files of one reply, in order, and their ends are marked behind the last result", async () => {
    const { harness, results, workspace, audited } = await setUp(
      { format: "printf '%s\\n' format {files} >> log", lint: "echo lint >> log; echo bad hunter2; exit 3" },
      [[write("a.txt"), write("-it's.txt"), write("a.txt", "again"), toolCall("r", "file_read", { path: "a.txt" })]],
    );
    expect((await harness.say("go")).text).toBe("done");
    expect(await readFile(join(workspace, "log"), "utf8")).toBe("format\n./a.txt\n./-it's.txt\nlint\n");
    const [first, second, third, read] = results();
    expect([first, second, read].join()).not.toContain("Run by the service");
    expect(third).toMatch(
      /\n\n\[Run by the service after this call, .* no instructions\.\]\nformat: done\nlint: exit code 3\nbad hunter2$/,
    );
    const lines = await audited();
    expect(lines).toMatchObject([
      { event: "auto_action", action: "format", end: "exited", exit_code: 0, tool: "file_write", owner: true },
      { event: "auto_action", action: "lint", exit_code: 3, result: "bad ***" },
    ]);
    expect(lines[0]?.["duration_ms"]).toEqual(expect.any(Number));
  });

  it("run in each reply that changes files, and in none that changes nothing", async () => {
    const { harness, workspace } = await setUp({ format: "printf '%s ' {files} >> log" }, [
      [write("a.txt")],
      [toolCall("r", "file_read", { path: "a.txt" }), toolCall("bad", "file_edit", { path: "a.txt" })],
      [toolCall("e", "file_edit", { path: "a.txt", old_string: "new", new_string: "newer" })],
    ]);
    await harness.say("go");
    expect(await readFile(join(workspace, "log"), "utf8")).toBe("./a.txt ./a.txt ");
  });

  it("run after the call that follows where the last one that was to change a file is refused", async () => {
    const refuse: AnyHook = {
      name: "refuse",
      event: "tool:before",
      priority: 10,
      run: async ({ call }) => {
        if (call.id === "no") throw new Error("no");
      },
    };
    const { harness, results } = await setUp(
      { format: "echo {files}" },
      [[write("a.txt"), write("b.txt", "no"), toolCall("r", "file_read", { path: "a.txt" })]],
      { hooks: [refuse] },
    );
    await harness.say("go");
    expect(results().map((result) => result.includes("format: done"))).toEqual([false, false, true]);
  });

  it("run for no files where none is there any more", async () => {
    let folder = "";
    const remove: AnyHook = {
      name: "remove",
      event: "tool:after",
      priority: 10,
      run: () => rm(join(folder, "a.txt"), { force: true }),
    };
    const { harness, workspace, results } = await setUp(
      { format: "echo {files}", test: "echo all" },
      [[write("a.txt")]],
      { hooks: [remove] },
    );
    folder = workspace;
    await harness.say("go");
    expect(results()[0]).toMatch(/no instructions\.\]\ntest: done$/);
  });

  it("leave a turn as it is whatever they do: too much output, no sandbox, a file that is gone", async () => {
    const noisy = await setUp({ test: "yes bad | head -c 5000000; rm a.txt; exit 1", lint: "rm a.txt; echo {files}" }, [
      [write("a.txt")],
    ]);
    expect((await noisy.harness.say("go")).text).toBe("done");
    const [result = ""] = noisy.results();
    expect(result).toContain("test: exit code 1\nbad");
    expect(result.length).toBeLessThan(10_000);

    const without = await setUp({ lint: "echo hi" }, [[write("a.txt")]], {
      shell: { sandbox: "bubblewrap", bubblewrapPaths: [] },
    });
    expect((await without.harness.say("go")).text).toBe("done");
    expect(without.results()[0]).toMatch(/lint: could not be run\nTOOL_SANDBOX_MISSING: /);
    expect(await readFile(join(without.workspace, "a.txt"), "utf8")).toBe("new a.txt\n");
  });

  it("are ended with the turn by /stop", async () => {
    const actions = { lint: "echo begun > began; sleep 600", test: "echo next" };
    const { harness, workspace, audited } = await setUp(actions, [[write("a.txt")]]);
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await expect
      .poll(() => readFile(join(workspace, "began"), "utf8").catch(() => ""), { timeout: 20_000 })
      .toBe("begun\n");
    await harness.command("/stop");
    expect(await harness.turns.wait(harness.agentName, turnId)).toMatchObject({
      interrupted: true,
      notice: "Stopped.",
    });
    expect(await audited()).toMatchObject([{ action: "lint", end: "aborted" }]);
  });

  it("see only the workspace, and nothing is run for users who are not the owner", async () => {
    const { harness, workspace, results } = await setUp(
      { lint: "cat /etc/shadow ../home/* secret; exit 1" },
      [[write("a.txt")]],
      {
        protect: "secret",
      },
    );
    await writeFile(join(workspace, "secret"), "hunter2");
    await harness.say("go");
    expect(results()[0]).toContain("lint: exit code 1");
    expect(results()[0]).not.toMatch(/hunter2|root:/);
    await harness.say("go", { address: { channel: harness.channel.id, conversation: "x", user: "ann" }, owner: false });
    expect(results()[0]).not.toContain("lint");
  });

  it("report what git has not committed, without the service's own files, and without running what the repository asks for", async () => {
    const { harness, workspace, results } = await setUp({ git_check: true }, [[write("a.txt")]], { protect: "secret" });
    await harness.say("go");
    // No repository: nothing to say.
    expect(results()[0]).not.toContain("git_check");
    await run("git", ["init", "-q"], { cwd: workspace });
    await run("git", ["config", "core.fsmonitor", "touch pwned; false"], { cwd: workspace });
    await writeFile(join(workspace, "secret"), "hunter2");
    await harness.say("go");
    expect(results().at(-1)).toMatch(/git_check: uncommitted\n\?\? a\.txt$/);
    expect(await readdir(workspace)).not.toContain("pwned");
  });

  it.each([
    ["a filter in its configuration", "filter.x.clean", ""],
    ["a hook in its configuration", "hook.x.command", ""],
    ["a filter for one of its files", "filter.x.smudge", "a.* filter=x\n"],
  ])("do not ask git where the repository names %s", async (_how, key, attributes) => {
    const { harness, workspace, results } = await setUp({ git_check: true }, [[write("a.txt")]]);
    const git = repositoryIn(workspace);
    await git("init", "-q");
    await writeFile(join(workspace, "a.txt"), "1");
    await git("add", "-A");
    await git("config", key, "touch pwned; cat");
    await writeFile(join(workspace, ".git/info/attributes"), attributes);
    await harness.say("go");
    expect(results().at(-1)).toMatch(/git_check: not run, the repository names filters or hooks, /);
    expect(await readdir(workspace)).not.toContain("pwned");
  });

  it("ask git for nothing of a submodule, whatever .gitmodules says", async () => {
    const { harness, workspace, results } = await setUp({ git_check: true }, [[write("a.txt")]]);
    const git = repositoryIn(workspace);
    const inner = repositoryIn(join(workspace, "sub"));
    await git("init", "-q");
    await mkdir(join(workspace, "sub"));
    await inner("init", "-q");
    await writeFile(join(workspace, "sub/x"), "1");
    await inner("add", "-A");
    await inner("commit", "-q", "-m", "first");
    await git("-c", "advice.addEmbeddedRepo=false", "add", "sub");
    await writeFile(join(workspace, ".gitmodules"), '[submodule "sub"]\npath = sub\nurl = ./sub\nignore = none\n');
    await inner("config", "filter.x.clean", `touch ${workspace}/pwned; cat`);
    await writeFile(join(workspace, "sub/.git/info/attributes"), "* filter=x\n");
    await writeFile(join(workspace, "sub/x"), "2");
    await harness.say("go");
    expect(results().at(-1)).toMatch(/git_check: uncommitted\nA {2}sub\n\?\? \.gitmodules\n\?\? a\.txt$/);
    expect(await readdir(workspace)).not.toContain("pwned");
  });

  it.each([
    ["turn", ["Changes by the agent"]],
    ["session", []],
    ["off", []],
  ] as const)("commit the workspace, or not: %s", async (commit, afterTurn) => {
    const { harness, workspace, background, audited } = await setUp({ commit }, [[write("a.txt")]], {
      protect: "secret",
    });
    const git = async (...args: string[]) =>
      (await run("git", ["-c", "core.fsmonitor=false", ...args], { cwd: workspace })).stdout.trim();
    // No repository: nothing is done, and none is made.
    await harness.say("go");
    await harness.command("/new");
    await background.idle();
    expect(await readdir(workspace)).toEqual(["a.txt"]);
    await run("git", ["init", "-q"], { cwd: workspace });
    for (const hook of ["pre-commit", "post-commit", "post-index-change"]) {
      await writeFile(join(workspace, ".git/hooks", hook), `#!/bin/sh\ntouch ${workspace}/pwned\n`, { mode: 0o755 });
    }
    await run("git", ["config", "commit.gpgSign", "true"], { cwd: workspace });
    await run("git", ["config", "core.fsmonitor", "touch pwned; false"], { cwd: workspace });
    await writeFile(join(workspace, "secret"), "hunter2");
    await writeFile(join(workspace, ".git/info/attributes"), "*.txt -filter\nsecret filter=x\n");
    await harness.say("go");
    await expect.poll(() => git("log", "--format=%s", "--all")).toMatch(new RegExp(afterTurn[0] ?? "^$"));
    await background.idle();
    expect(await git("log", "--format=%s", "--all")).toMatch(new RegExp(afterTurn[0] ?? "^$"));
    await harness.command("/new");
    await background.idle();
    if (commit === "off") return expect(await git("log", "--all")).toBe("");
    expect(await git("log", "--format=%s: %an <%ae>")).toBe(
      `Changes by the agent ${harness.agentName}: Cairn (${harness.agentName}) <cairn@localhost>`,
    );
    expect(await git("ls-files")).toBe("a.txt");
    expect(await readdir(workspace)).not.toContain("pwned");
    expect(await audited()).toMatchObject([{ event: "auto_action", action: "commit", outcome: "committed" }]);
  });

  it.each([
    ["has filters", (folder: string) => run("git", ["config", "filter.x.clean", "touch pwned"], { cwd: folder })],
    [
      "has hooks in its configuration",
      (folder: string) => run("git", ["config", "hook.x.command", "touch pwned"], { cwd: folder }),
    ],
    [
      "has a file for Git LFS, whose filter is in the configuration of the user",
      (folder: string) => writeFile(join(folder, ".gitattributes"), "*.txt filter=lfs diff=lfs merge=lfs -text\n"),
    ],
    [
      "has its objects and branches in another one",
      async (folder: string) => {
        const other = repositoryIn(join(folder, "other"));
        await mkdir(join(folder, "other"));
        await other("init", "-q");
        await other("commit", "-q", "--allow-empty", "-m", "first");
        await writeFile(join(folder, ".git/commondir"), "../other/.git\n");
      },
    ],
    ["is in the middle of a merge", (folder: string) => writeFile(join(folder, ".git/MERGE_HEAD"), "")],
    [
      "leads to a repository elsewhere",
      async (folder: string) => {
        await rename(join(folder, ".git"), join(folder, "../elsewhere"));
        await symlink("../elsewhere", join(folder, ".git"));
      },
    ],
  ] as const)("commit nothing where the repository %s", async (_how, prepare) => {
    const { harness, workspace, background } = await setUp({ commit: "turn" }, [[write("a.txt")]]);
    await run("git", ["init", "-q"], { cwd: workspace });
    await prepare(workspace);
    const history = async () => (await run("git", ["log", "--all", "--format=%s"], { cwd: workspace })).stdout;
    const before = await history();
    await harness.say("go");
    await harness.say("again");
    await background.idle();
    expect(await history()).toBe(before);
    expect(await readdir(workspace)).not.toContain("pwned");
  });

  it("commit what a submodule has committed, where nothing else has changed", async () => {
    const { harness, workspace, background } = await setUp({ commit: "turn" }, [[write("a.txt")]]);
    const git = repositoryIn(workspace);
    const inner = repositoryIn(join(workspace, "sub"));
    await git("init", "-q");
    await mkdir(join(workspace, "sub"));
    await inner("init", "-q");
    await writeFile(join(workspace, ".gitmodules"), '[submodule "sub"]\npath = sub\nurl = ./sub\nignore = all\n');
    for (const message of ["first", "second"]) {
      await inner("commit", "-q", "--allow-empty", "-m", message);
      await harness.say("go");
      await background.idle();
      expect((await git("status", "--porcelain", "--ignore-submodules=none")).stdout).toBe("");
    }
    const { stdout } = await git("ls-tree", "HEAD", "sub");
    expect(stdout).toContain((await inner("rev-parse", "HEAD")).stdout.trim());
    expect((await git("log", "--format=%s")).stdout.match(/Changes by/g)).toHaveLength(2);
  });

  it("commit nothing in turns of others", async () => {
    let folder = "";
    const repository: AnyHook = {
      name: "repository",
      event: "turn:before",
      priority: 10,
      run: async ({ workspace }) => {
        folder = workspace;
        await mkdir(folder, { recursive: true });
        await run("git", ["init", "-q"], { cwd: folder });
      },
    };
    const { harness, background } = await setUp({ commit: "turn" }, [[write("a.txt")]], { hooks: [repository] });
    const address = { channel: harness.channel.id, conversation: "x", user: "ann" };
    await harness.say("go", { address, owner: false });
    await background.idle();
    expect(await readdir(folder)).toEqual([".git", "a.txt"]);
    expect((await run("git", ["log", "--all"], { cwd: folder })).stdout).toBe("");
  });

  it("end a commit with the node", async () => {
    const { harness, workspace, background, stop } = await setUp({ commit: "turn" }, [[write("a.txt")]]);
    await run("git", ["init", "-q"], { cwd: workspace });
    // git waits for a writer.
    await rm(join(workspace, ".git/info/exclude"));
    await run("mkfifo", [join(workspace, ".git/info/exclude")]);
    await harness.say("go");
    await setTimeout(500);
    stop();
    await background.idle();
    await rm(join(workspace, ".git/info/exclude"));
    expect((await run("git", ["log", "--all"], { cwd: workspace })).stdout).toBe("");
  });
});
