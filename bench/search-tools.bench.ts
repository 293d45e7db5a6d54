/** search_grep on a tree of 100,000 files beside ripgrep itself, in turns: without ripgrep, and with it. */

import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ToolContext } from "../runtime/contracts/tool.ts";
import { createWorkspaceGate } from "../runtime/plugins/tools/index.ts";
import { createSearchGlobTool } from "../runtime/plugins/tools/search-glob/index.ts";
import { createSearchGrepTool } from "../runtime/plugins/tools/search-grep/index.ts";
import type { Bench, BenchContext } from "./support/bench.ts";

const run = promisify(execFile);
const FOLDERS = 2_000;
const FILES = 50;
const TIMES = 7;
/** One file in so many has the text that is searched for. */
const RARE = 1_000;
const WORDS = "const function return import export value index result item list map filter await promise error".split(
  " ",
);

export const bench: Bench = {
  about: "search_grep and search_glob on 100,000 files of about 2 kB, beside ripgrep",
  async run(context) {
    const root = await context.folder();
    await plant(root);
    const gate = createWorkspaceGate({ protectedPaths: [] });
    const glob = createSearchGlobTool({ gate });
    await context.time({ name: "search_glob *-7.ts", times: TIMES, warmUp: 1 }, async () => {
      await glob.execute({ pattern: "*-7.ts" }, context.signal, turnIn(root));
    });
    const hasRipgrep = await run("rg", ["--version"]).then(
      () => true,
      () => false,
    );
    if (!hasRipgrep) {
      process.stderr.write("  the rest is left out: needs rg on PATH\n");
      return;
    }
    for (const pattern of ["needleWord", "needle\\w+ \\d+$", "[0-9]{6}"]) {
      await compareWith(
        context,
        root,
        pattern,
        "without ripgrep",
        createSearchGrepTool({ gate, searchPath: "/nonexistent" }),
      );
      await compareWith(
        context,
        root,
        pattern,
        "with ripgrep",
        createSearchGrepTool({ gate, searchPath: process.env["PATH"] }),
      );
    }
  },
};

async function compareWith(
  context: BenchContext,
  root: string,
  pattern: string,
  name: string,
  tool: ReturnType<typeof createSearchGrepTool>,
): Promise<void> {
  const ours: number[] = [];
  const theirs: number[] = [];
  context.begin();
  for (let n = 0; n <= TIMES; n += 1) {
    const began = performance.now();
    await run("rg", ["--no-config", "--line-number", "-e", pattern, "."], { cwd: root });
    const between = performance.now();
    const args = { pattern, limit: 1_000 };
    await tool.execute(args, context.signal, turnIn(root));
    // The first one of each warms the disk's cache.
    if (n === 0) continue;
    theirs.push(between - began);
    ours.push(performance.now() - between);
  }
  context.together(() => {
    context.samples({ name: `ripgrep itself, ${pattern}`, unit: "ms" }, theirs);
    context.samples({ name: `search_grep ${name}, ${pattern}`, unit: "ms" }, ours);
    const goal = { of: "value", atMost: 3 } as const;
    context.value(
      { name: `search_grep ${name} to ripgrep, ${pattern}`, unit: "x", goal },
      median(ours) / median(theirs),
    );
  });
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

async function plant(root: string): Promise<void> {
  await writeFile(join(root, ".gitignore"), "node_modules/\n*.log\n!keep.log\n/build\n");
  for (let folder = 0; folder < FOLDERS; folder += 1) {
    const path = join(root, `package-${folder % 40}`, `part-${folder}`);
    await mkdir(path, { recursive: true });
    await Promise.all(
      Array.from({ length: FILES }, (_, file) =>
        writeFile(join(path, `file-${file}.ts`), textOf(folder * FILES + file)),
      ),
    );
  }
}

function textOf(n: number): string {
  const lines = Array.from({ length: 40 }, (_, line) =>
    Array.from({ length: 8 }, (_word, word) => WORDS[(n * 7 + line * 3 + word * 5) % WORDS.length]).join(" "),
  );
  return `${lines.join("\n")}\n${n % RARE === 0 ? "the needleWord 123456\n" : ""}`;
}

function turnIn(workspace: string): ToolContext {
  const refuse = () => Promise.reject(new Error("a search asks nothing of its turn"));
  return {
    agent: "main",
    sessionKey: "main:agent:bench:",
    conversationId: "",
    turnId: "",
    toolCallId: "",
    tools: [],
    workspace,
    channel: "agent",
    user: "",
    owner: true,
    ask: refuse,
    delegate: refuse,
    spawn: refuse,
    once: (work) => work(),
    progress: () => undefined,
    deliver: refuse,
    sendFile: refuse,
  };
}
