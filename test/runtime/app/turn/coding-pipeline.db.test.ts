/** The coding pipeline in real turns: a real repository, real checks in the real sandbox, and a scripted model in every stage. */

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { v7 as newId } from "uuid";
import { afterEach, expect, it } from "vitest";
import { createCodingPipelineTool } from "../../../../runtime/plugins/tools/coding-pipeline/index.ts";
import type { CodingSettings } from "../../../../runtime/plugins/tools/coding-pipeline/settings.ts";
import { createCommandRunner, createWorkspaceGate, SHELL_DEFAULTS } from "../../../../runtime/plugins/tools/index.ts";
import { builtInTools } from "../../../support/built-in-tools.ts";
import { describeDatabase, quietLogger } from "../../../support/databases.ts";
import {
  end,
  type Harness,
  type HarnessOptions,
  hang,
  realClock,
  type Script,
  startHarness,
  text,
  toolCall,
} from "../../../support/turn-harness.ts";

const run = promisify(execFile);
type Chunks = ReturnType<typeof text>[];

/** What the model says in a stage: how many calls it has made there, and in which of the stages of this kind. */
type Stage = (step: number, nth: number, request: Parameters<Script>[0]) => Chunks | Promise<Chunks>;
interface Stages {
  readonly plan: Stage;
  readonly edit: Stage;
  readonly review: Stage;
}

const KINDS = [
  ["plan", /^You plan a change/],
  ["edit", /^You make a change/],
  ["review", /^You review a change/],
] as const;

const says =
  (words: string): Stage =>
  () => [text(words), end()];
const writes =
  (content: (nth: number) => string, path = "add.sh"): Stage =>
  (step, nth) =>
    step > 0
      ? [text("edited"), end()]
      : [toolCall(`w${nth}`, "file_write", { path, content: content(nth) }), end("tool_calls")];

const WRONG = 'echo "$(( $1 - $2 ))"\n';
const RIGHT = 'echo "$(( $1 + $2 ))"\n';
const CHECK =
  'echo checked >> /dev/null\n[ "$(sh add.sh 2 3)" = 5 ] || { echo "2 and 3 make $(sh add.sh 2 3)"; exit 1; }\n';

describeDatabase("the coding pipeline", (open) => {
  const running: Harness[] = [];
  const folders: string[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((harness) => harness.stop()));
    await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
  });

  async function repository(files: Readonly<Record<string, string>> = { "add.sh": "echo 0\n", "check.sh": CHECK }) {
    const base = await mkdtemp(join(tmpdir(), "cairn-coding-"));
    folders.push(base);
    const workspace = join(base, "workspace");
    await mkdir(workspace);
    const git = async (...args: string[]) =>
      (await run("git", ["-C", workspace, "-c", "user.name=a", "-c", "user.email=a@b", ...args])).stdout;
    await git("init", "-q", "-b", "main");
    for (const [name, content] of Object.entries(files)) await writeFile(join(workspace, name), content);
    await git("add", "-A");
    await git("commit", "-q", "-m", "first");
    return { base, workspace, git };
  }

  type Repo = Awaited<ReturnType<typeof repository>>;

  interface SetUp extends Omit<Partial<HarnessOptions>, "script" | "agent"> {
    readonly workspace: string;
    readonly base: string;
    readonly stages?: Partial<Stages>;
    readonly settings?: Partial<CodingSettings>;
    /** Null: they are found. */
    readonly checks?: readonly string[] | null;
    readonly without?: readonly string[];
    /** A file of the service in the workspace. */
    readonly protect?: string;
    readonly args?: object;
    readonly agent?: HarnessOptions["agent"];
    readonly timer?: { now(): Date };
  }

  async function start(given: SetUp, kept = true) {
    const {
      workspace,
      base,
      stages = {},
      settings,
      checks = ["sh check.sh"],
      without = [],
      protect,
      args = {},
      timer = realClock,
      ...more
    } = given;
    const name = more.agent?.name ?? `coder-${randomUUID().slice(0, 8)}`;
    const stateDirectory = join(base, "home");
    await mkdir(stateDirectory, { recursive: true });
    const protectedPaths = [stateDirectory, ...(protect ? [join(workspace, protect)] : [])];
    const gate = createWorkspaceGate({ protectedPaths });
    const deps = {
      gate,
      protectedPaths,
      stateDirectory,
      hostEnv: process.env,
      newId,
      logger: quietLogger,
    };
    const pipeline = createCodingPipelineTool({
      settings: {
        timeoutMs: 300_000,
        checkTimeoutMs: 60_000,
        maxRounds: 3,
        maxTokens: 100_000,
        checks: new Map(checks === null ? [] : [[name, checks]]),
        ...settings,
      },
      gate,
      runCommand: createCommandRunner({ ...deps, settings: SHELL_DEFAULTS, container: false }),
      clock: timer,
      newId,
    });
    const of: Stages = {
      plan: says("Change add.sh."),
      edit: writes(() => RIGHT),
      review: says("ACCEPT\n\nGood."),
      ...stages,
    };
    const counts = { plan: new Set<string>(), edit: new Set<string>(), review: new Set<string>() };
    /** Of each stage, in order. */
    const prompts: string[] = [];
    const script: Script = async (request) => {
      const from = request.messages.findLastIndex(({ role }) => role === "user");
      const said = String(request.messages[from]?.content);
      const after = request.messages.slice(from + 1);
      const kind = KINDS.find(([, pattern]) => pattern.test(said))?.[0];
      if (kind === undefined) {
        const result = after.find(({ role }) => role === "tool");
        return result
          ? [text(String(result.content)), end()]
          : [toolCall("p", "coding_pipeline", { task: "Make add.sh add.", ...args }), end("tool_calls")];
      }
      if (!prompts.includes(said)) prompts.push(said);
      counts[kind].add(said);
      return of[kind](after.filter(({ role }) => role === "assistant").length, counts[kind].size, request);
    };
    const builtIn = (await builtInTools()).filter(({ name: tool }) => /^(file|search)_|^shell$/.test(tool));
    const harness = await startHarness({
      database: await open(),
      tools: [...builtIn.filter(({ name: tool }) => !without.includes(tool)), pipeline],
      script,
      ...more,
      agent: { workspace, ...more.agent, name },
    });
    if (kept) running.push(harness);
    return { harness, prompts };
  }

  const states = async ({ agentName }: Harness) =>
    (
      await (
        await open()
      ).query<{ state: string }>("select state from turns where agent = $1 order by seq", [agentName])
    ).rows.map(({ state }) => state);

  /** Processes of the machine whose command line holds this. */
  async function processes(word: string): Promise<number> {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
    return lines.filter((line) => line.includes(word)).length;
  }

  it("edits until the checks pass and the review accepts, and commits nothing", async () => {
    const repo = await repository();
    const { harness, prompts } = await start({
      ...repo,
      stages: { edit: writes((nth) => (nth === 1 ? WRONG : RIGHT)) },
    });
    const { text: said } = await harness.say("go");
    expect(said).toMatch(/^The change is made: its checks pass, and the review accepts it\. Rounds: 2\./);
    expect(said).toMatch(/add\.sh \| 2 \+-\n 1 file changed/);
    expect(said).toContain("sh check.sh: passed");
    expect(await readFile(join(repo.workspace, "add.sh"), "utf8")).toBe(RIGHT);
    expect(prompts.map((message) => message.slice(0, 12))).toEqual([
      "You plan a c",
      "You make a c",
      "You make a c",
      "You review a",
    ]);
    expect(prompts[2]).toContain("sh check.sh: exit code 1\n2 and 3 make -1");
    expect(prompts[2]).toContain("Change add.sh.");
    expect(prompts[3]).toContain('+echo "$(( $1 + $2 ))"');
    expect(await repo.git("status", "--porcelain")).toBe(" M add.sh\n");
    expect(await repo.git("log", "--oneline")).toMatch(/^\w+ first\n$/);
    expect(await states(harness)).toEqual(["done", "done", "done", "done", "done"]);
    const offered = new Map(
      harness.requests.map(({ messages, options }) => [String(messages[0]?.content).slice(0, 8), options.tools]),
    );
    expect(offered.get("You plan")?.map(({ name }) => name)).toEqual(["file_read", "search_glob", "search_grep"]);
    expect(offered.get("You make")?.map(({ name }) => name)).toContain("file_edit");
    expect(offered.get("You make")?.map(({ name }) => name)).not.toContain("shell");
  });

  it("shows the review files that are new, and goes on where it wants something changed", async () => {
    const repo = await repository();
    const { harness, prompts } = await start({
      ...repo,
      stages: {
        edit: (step, nth, request) =>
          step === 1
            ? writes(() => `note ${nth}\n`, "notes.txt")(0, nth + 100, request)
            : writes(() => RIGHT)(step, nth, request),
        review: (_step, nth) => [text(nth === 1 ? "ACCEPTABLE, but the note is wrong." : "**ACCEPT**"), end()],
      },
    });
    const { text: said } = await harness.say("go");
    expect(said).toContain("Rounds: 2.");
    expect(prompts.find((message) => message.startsWith("You review"))).toContain("+note 1");
    expect(prompts.filter((message) => message.startsWith("You make"))[1]).toContain(
      "ACCEPTABLE, but the note is wrong.",
    );
  });

  it("shows nobody the service's own files", async () => {
    const repo = await repository();
    await writeFile(join(repo.workspace, "keys"), "hunter2");
    const { harness } = await start({ ...repo, protect: "keys" });
    expect((await harness.say("go")).text).toContain("The change is made");
    expect(JSON.stringify(harness.requests)).not.toMatch(/hunter2|keys \|/);
  });

  it("ends after its rounds where the review never accepts, and leaves the change", async () => {
    const repo = await repository();
    const { harness, prompts } = await start({ ...repo, args: { rounds: 2 }, stages: { review: says("Never.") } });
    const { text: said } = await harness.say("go");
    expect(said).toMatch(/^The pipeline has failed: no round has brought a change that passes and is accepted\./);
    expect(said).toContain("The working tree is left as it is. Rounds: 2.");
    expect(said).toContain("Never.");
    expect(prompts.filter((message) => message.startsWith("You make"))).toHaveLength(2);
    expect(await readFile(join(repo.workspace, "add.sh"), "utf8")).toBe(RIGHT);
  });

  it("does not take nothing for a change, though its checks pass", async () => {
    const repo = await repository();
    const { harness, prompts } = await start({
      ...repo,
      args: { rounds: 2 },
      checks: ["true"],
      stages: { edit: says("Done.") },
    });
    const { text: said } = await harness.say("go");
    expect(said).toMatch(/^The pipeline has failed: no round .*\n.*Changed:\n\(nothing\)/s);
    expect(prompts.filter((message) => message.startsWith("You make"))[1]).toContain("Nothing was changed.");
    expect(prompts.filter((message) => message.startsWith("You review"))).toEqual([]);
  });

  it("ends checks that never do, and what they have started", async () => {
    const repo = await repository();
    const { harness } = await start({
      ...repo,
      args: { rounds: 1 },
      checks: ["sleep 86417 & sleep 86417", "true"],
      settings: { checkTimeoutMs: 1_500 },
    });
    const { text: said } = await harness.say("go");
    expect(said).toContain("sleep 86417 & sleep 86417: took too long and was ended");
    expect(said).toContain("true: was not run");
    expect(await processes("86417")).toBe(0);
  });

  it("is stopped in the middle of a check, whose processes are gone", async () => {
    const repo = await repository();
    const { harness } = await start({ ...repo, checks: ["sleep 86418 & sleep 86418"] });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await expect.poll(() => processes("86418"), { timeout: 60_000 }).toBeGreaterThan(1);
    expect(await harness.command("/stop")).toMatchObject({ data: { stopped: true } });
    expect(await harness.turns.wait(harness.agentName, turnId)).toMatchObject({
      interrupted: true,
      notice: "Stopped.",
    });
    await expect.poll(() => processes("86418")).toBe(0);
    expect(await states(harness)).toEqual(["aborted", "done", "done"]);
  });

  it("is stopped with the stage that works", async () => {
    const repo = await repository();
    const begun = Promise.withResolvers<void>();
    const { harness } = await start({
      ...repo,
      stages: {
        edit: (_step, _nth, { options }) => {
          begun.resolve();
          return hang(options.signal);
        },
      },
    });
    const { turnId } = await harness.turns.accept(harness.message("go"));
    await begun.promise;
    await harness.command("/stop");
    expect(await harness.turns.wait(harness.agentName, turnId)).toMatchObject({ notice: "Stopped." });
    await expect.poll(() => states(harness)).toEqual(["aborted", "done", "aborted"]);
  });

  it("stops the stage that works when the time of all is over", async () => {
    const repo = await repository();
    const { harness } = await start({
      ...repo,
      settings: { timeoutMs: 1_500 },
      stages: { edit: (_step, _nth, { options }) => hang(options.signal) },
    });
    const { text: said } = await harness.say("go");
    expect(said).toMatch(
      /^The pipeline has failed: The sub-agent did not reply before the deadline, and was stopped\./,
    );
    await expect.poll(() => states(harness)).toEqual(["done", "done", "aborted"]);
  });

  it("fails with the tokens of a stage, and says what is in the working tree", async () => {
    const repo = await repository();
    const { harness } = await start({
      ...repo,
      settings: { maxTokens: 40 },
      stages: {
        edit: (step, nth) => [
          toolCall(`e${step}`, "file_write", { path: "add.sh", content: `echo ${nth} ${step}\n` }),
          end("tool_calls"),
        ],
      },
    });
    const { text: said } = await harness.say("go");
    expect(said).toMatch(/^The pipeline has failed: The sub-agent's turn failed: The task has used up its budget/);
    expect(said).toContain("The working tree is left as it is. Rounds: 1.");
    expect(said).toContain("add.sh | 2 +-");
  });

  it("goes on with the stage after its process has died, and runs no check twice", async () => {
    const repo = await repository({
      "add.sh": "echo 0\n",
      "check.sh": `echo run >> runs.txt\n${CHECK}`,
      ".gitignore": "runs.txt\n",
    });
    const begun = Promise.withResolvers<void>();
    const { harness: doomed } = await start(
      {
        ...repo,
        stages: {
          edit: (step, nth, request) => {
            if (nth === 1) return writes(() => WRONG)(step, nth, request);
            begun.resolve();
            return hang();
          },
        },
      },
      false,
    );
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    await begun.promise;
    await doomed.die();
    const { harness: next } = await start({ ...repo, agent: doomed.next.agent, node: doomed.next.node });
    const { text: said } = await next.turns.wait(next.agentName, turnId);
    expect(said).toMatch(/^The change is made.*Rounds: 2\./);
    expect(await readFile(join(repo.workspace, "runs.txt"), "utf8")).toBe("run\nrun\n");
  });

  it("ends with a drain that outlasts its time during a check, and the agent reads that", async () => {
    const repo = await repository();
    const checks = ["sleep 86421 & sleep 86421"];
    const { harness: drained } = await start({ ...repo, checks }, false);
    const { turnId } = await drained.turns.accept(drained.message("go"));
    await expect.poll(() => processes("86421"), { timeout: 60_000 }).toBeGreaterThan(1);
    await drained.drain(0);
    expect(await processes("86421")).toBe(0);
    expect(await states(drained)).toEqual(["queued", "done", "done"]);
    await drained.stop();
    const { harness: next } = await start({ ...repo, checks, agent: drained.next.agent, node: drained.next.node });
    const { text: said } = await next.turns.wait(next.agentName, turnId);
    expect(said).toBe("TOOL_ABORTED: The pipeline was stopped; the working tree is left as it is.");
  });

  it("ends with an unknown outcome where its process dies during a check", async () => {
    const repo = await repository();
    const checks = ["sleep 86419; true"];
    const { harness: doomed } = await start({ ...repo, checks }, false);
    const { turnId } = await doomed.turns.accept(doomed.message("go"));
    await expect.poll(() => processes("86419"), { timeout: 60_000 }).toBeGreaterThan(0);
    await doomed.die();
    const { harness: next } = await start({ ...repo, checks, agent: doomed.next.agent, node: doomed.next.node });
    expect((await next.turns.wait(next.agentName, turnId)).text).toContain("TOOL_OUTCOME_UNKNOWN");
    await doomed.dispatcher.drain(0);
    await expect.poll(() => processes("86419"), { timeout: 30_000 }).toBe(0);
  });

  it("begins in a clean repository of the workspace alone, or with `allow_dirty`", async () => {
    const repo = await repository();
    await writeFile(join(repo.workspace, "mine.txt"), "mine\n");
    const refusing = await start({ ...repo });
    expect((await refusing.harness.say("go")).text).toContain(
      "TOOL_REFUSED: Something is uncommitted in .:\n?? mine.txt",
    );
    expect(refusing.prompts).toEqual([]);
    const { harness } = await start({ ...repo, args: { allow_dirty: true } });
    const { text: said } = await harness.say("go");
    expect(said).toContain("The change is made");
    // What was there before is no change of the pipeline.
    expect(said).not.toContain("mine.txt");
  });

  it.each<[string, Partial<SetUp>, RegExp]>([
    ["outside of the workspace", { args: { path: "../" } }, /TOOL_OUTSIDE_WORKSPACE/],
    ["in a directory that is none", { args: { path: "sub" } }, /sub: no repository/],
    ["through a link to one", { args: { path: "linked" } }, /linked: no repository/],
    ["in a directory that is not there", { args: { path: "gone" } }, /there is no such directory/],
    ["without tools that edit", { without: ["file_edit"] }, /The coding pipeline needs file_edit/],
    ["with no checks", { checks: null }, /No checks were found/],
  ])("is refused %s", async (_name, more, refusal) => {
    const repo = await repository();
    await mkdir(join(repo.workspace, "sub"));
    await mkdir(join(repo.workspace, "linked"));
    await symlink(join(repo.workspace, ".git"), join(repo.workspace, "linked", ".git"));
    const { harness, prompts } = await start({ ...repo, ...more });
    expect((await harness.say("go")).text).toMatch(refusal);
    expect(prompts).toEqual([]);
  });

  it.each<[string, (repo: Repo) => Promise<unknown>, object, RegExp]>([
    [
      "has filters, which git status would run",
      async ({ git, workspace }) => {
        await git("config", "filter.x.clean", "touch pwned; cat");
        await writeFile(join(workspace, ".git/info/attributes"), "* filter=x\n");
        await writeFile(join(workspace, "add.sh"), "echo 1\n");
      },
      { allow_dirty: true },
      /TOOL_REFUSED: \.: the repository names filters or hooks, which are programs/,
    ],
    [
      "has a file for Git LFS, whose filter is in the configuration of the user",
      async ({ git, workspace }) => {
        await writeFile(join(workspace, ".gitattributes"), "*.sh filter=lfs diff=lfs merge=lfs -text\n");
        await git("add", ".gitattributes");
        await git("commit", "-q", "-m", "lfs");
      },
      {},
      /TOOL_REFUSED: \.: the repository names filters or hooks, which are programs/,
    ],
    [
      "shows no new files by its configuration",
      async ({ git, workspace }) => {
        await git("config", "status.showUntrackedFiles", "no");
        await writeFile(join(workspace, "mine.txt"), "");
      },
      {},
      /Something is uncommitted in \.:\n\?\? mine\.txt/,
    ],
    [
      "cannot say what is uncommitted",
      ({ git }) => git("config", "status.showUntrackedFiles", "bogus"),
      {},
      /TOOL_REFUSED: \.: git has failed: [\s\S]*status\.showuntrackedfiles(?![\s\S]*topmost)/i,
    ],
    [
      "has another one inside",
      async ({ git, workspace }) => {
        await run("git", ["clone", "-q", workspace, join(workspace, "inner")]);
        await git("add", "inner");
        await git("commit", "-q", "-m", "inner");
        const inner = join(workspace, "inner");
        await run("git", ["-C", inner, "config", "filter.x.clean", `touch ${workspace}/pwned; cat`]);
        await writeFile(join(inner, ".git/info/attributes"), "* filter=x\n");
        await writeFile(join(inner, "add.sh"), "echo 1\n");
      },
      {},
      /another repository is inside/,
    ],
    [
      "has a new one inside",
      ({ workspace }) => run("git", ["clone", "-q", workspace, join(workspace, "inner")]),
      { allow_dirty: true },
      /another repository is inside/,
    ],
  ])("does not begin where the repository %s", async (_name, prepare, args, refusal) => {
    const repo = await repository();
    await prepare(repo);
    const { harness, prompts } = await start({ ...repo, args, without: ["shell"] });
    expect((await harness.say("go")).text).toMatch(refusal);
    expect(prompts).toEqual([]);
    expect(await readdir(repo.workspace)).not.toContain("pwned");
  });

  it("fetches nothing that is missing, by whatever program the repository names", async () => {
    const repo = await repository();
    // git would read a file that is as new as its index again, and so store what is missing.
    await utimes(join(repo.workspace, "add.sh"), 1_000, 1_000);
    await repo.git("add", "-A");
    const blob = (await repo.git("rev-parse", "HEAD:add.sh")).trim();
    for (const [key, value] of [
      ["core.repositoryFormatVersion", "1"],
      ["extensions.partialClone", "other"],
      ["remote.other.promisor", "true"],
      ["remote.other.url", "ext::touch pwned"],
      ["protocol.ext.allow", "always"],
    ] as const)
      await repo.git("config", key, value);
    await rm(join(repo.workspace, ".git/objects", blob.slice(0, 2), blob.slice(2)));
    const { harness } = await start({ ...repo });
    expect((await harness.say("go")).text).toContain("TOOL_REFUSED: .: git has failed");
    expect(await readdir(repo.workspace)).not.toContain("pwned");
  });

  it("lets no edit hide what it writes, or leave a program for git", async () => {
    const repo = await repository();
    const contents: Readonly<Record<string, string>> = { "add.sh": RIGHT, ".gitattributes": "sly.js -diff\n" };
    const paths = [
      [".git/info/exclude", ".git/hooks/pre-commit", "hidden.js"],
      [".gitattributes", "sly.js", "add.sh"],
    ];
    const { harness, prompts } = await start({
      ...repo,
      stages: {
        edit: (step) => {
          const calls = (paths[step] ?? []).map((path) =>
            toolCall(path, "file_write", { path, content: contents[path] ?? "hidden*\n" }),
          );
          return calls.length > 0 ? [...calls, end("tool_calls")] : [text("edited"), end()];
        },
      },
    });
    expect((await harness.say("go")).text).toContain("hidden.js");
    const review = prompts.find((message) => message.startsWith("You review"));
    expect(review).toContain("+++ b/hidden.js");
    expect(review).toMatch(/b\/sly\.js differ.*Of files that are said to be binary read what they hold\./s);
    expect(await readdir(join(repo.workspace, ".git/hooks"))).not.toContain("pre-commit");
  });

  it("says that git has failed, and what has run, where a check leaves something that git cannot take", async () => {
    const repo = await repository();
    const { harness } = await start({ ...repo, checks: ["git init -q fixture; touch fixture/a"] });
    const { text: said } = await harness.say("go");
    expect(said).toMatch(
      /^The pipeline has failed: git cannot say what has changed\. The working tree is left as it is\. Rounds: 1\./,
    );
    expect(said).toMatch(/git has failed: .*'fixture\/' does not have a commit checked out/s);
    expect(said).toContain("git init -q fixture; touch fixture/a: passed");
    expect(said).not.toContain("topmost directory");
  });

  it("runs no check when the time of all is over", async () => {
    const repo = await repository();
    let passed = 0;
    const { harness } = await start({
      ...repo,
      args: { rounds: 1 },
      timer: { now: () => new Date(Date.now() + passed) },
      stages: {
        edit: (step, nth, request) => {
          passed = 300_000;
          return writes(() => RIGHT)(step, nth, request);
        },
      },
    });
    expect((await harness.say("go")).text).toContain("sh check.sh: was not run");
  });

  it("runs checks that it finds for agents with a shell alone, and nothing in turns of others", async () => {
    const repo = await repository({ "add.sh": "echo 0\n", Makefile: "test:\n\tsh check.sh\n", "check.sh": CHECK });
    const { harness } = await start({ ...repo, checks: null });
    expect((await harness.say("go")).text).toContain("make test: passed");
    // What is uncommitted now is not even asked for.
    const without = await start({ ...repo, checks: null, without: ["shell"] });
    expect((await without.harness.say("go")).text).toContain("run for agents that have the tool shell");
    const others = { include: ["coding_pipeline", "file_read", "file_edit", "shell"] };
    const { harness: shared } = await start({ ...repo, agent: { tools: { others } } });
    const ofOther = { owner: false, address: { channel: shared.channel.id, conversation: "o", user: "eve" } };
    expect((await shared.say("go", ofOther)).text).toContain("runs in the owner's turns alone");
  });
});
