import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bashCompletion } from "../../../control/completion/bash.ts";
import { fishCompletion } from "../../../control/completion/fish.ts";
import { type CommandDescription, completionPlaces } from "../../../control/completion/words.ts";
import { zshCompletion } from "../../../control/completion/zsh.ts";
import { lacks } from "../../lanes/tools.ts";
import { createCli } from "../../support/cli.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const commands: CommandDescription[] = [
  {
    id: "memory:search",
    description: "Find it\n\nmore",
    flags: {
      scope: { name: "scope", type: "option", options: ["messages", "summaries"], description: "it's what" },
      out: { name: "out", type: "option", char: "o", helpValue: "FILE", description: "where to" },
      secret: { name: "secret", type: "boolean", hidden: true },
    },
  },
  { id: "memory:stats", description: "Count", flags: {} },
  {
    id: "shell",
    description: "Script",
    flags: {},
    args: { name: { options: ["bash", "fish"], description: "Which" } },
  },
  { id: "start", description: "Start", flags: { wait: { name: "wait", type: "boolean", allowNo: true } } },
  { id: "internal", hidden: true, flags: {} },
];
const places = completionPlaces(commands, { memory: "The memory" });

/** Bash's own answer for the words typed so far; the last one is being completed. */
function bash(script: string, words: readonly string[]): string[] {
  const array = words.map((word) => `'${word}'`).join(" ");
  const program = `${script}\nCOMP_WORDS=(${array})\nCOMP_CWORD=${words.length - 1}\n_cairn\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync("bash", ["--norc", "-c", program], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  return stdout.split("\n").filter((line) => line !== "");
}

describe("completion in bash", () => {
  const script = bashCompletion(places);

  it.each<[readonly string[], readonly string[]]>([
    [
      ["cairn", ""],
      ["memory", "shell", "start", "--help"],
    ],
    [["cairn", "mem"], ["memory"]],
    [
      ["cairn", "memory", ""],
      ["search", "stats", "--help"],
    ],
    [
      ["cairn", "memory", "search", "--"],
      ["--help", "--out", "--scope"],
    ],
    [
      ["cairn", "memory", "search", "--scope", ""],
      ["messages", "summaries"],
    ],
    [["cairn", "memory", "search", "--scope", "s"], ["summaries"]],
    [["cairn", "memory", "search", "some words", "--scope", "m"], ["messages"]],
    [
      ["cairn", "start", "--"],
      ["--help", "--no-wait", "--wait"],
    ],
    [["cairn", "internal", "-"], ["--help"]],
    [["cairn", "shell", "f"], ["fish"]],
    // Bash takes --scope=s apart.
    [
      ["cairn", "memory", "search", "--scope", "="],
      ["messages", "summaries"],
    ],
    [["cairn", "memory", "search", "--scope", "=", "s"], ["summaries"]],
  ])("%j offers %j", (words, expected) => {
    expect(bash(script, words).sort()).toEqual([...expected].sort());
  });

  it("offers files where a flag takes one", async () => {
    const dir = await temporaryDirectory();
    await writeFile(join(dir, "a.backup"), "");
    expect(bash(script, ["cairn", "memory", "search", "-o", `${dir}/a`])).toEqual([join(dir, "a.backup")]);
  });
});

const shells = { zsh: zshCompletion(places), fish: fishCompletion(places) };

describe.each(["zsh", "fish"] as const)("completion in %s", (shell) => {
  it("knows every command and flag that is shown", () => {
    for (const word of ["memory", "search", "stats", "start", "scope", "out", "no-wait"]) {
      expect(shells[shell]).toContain(word);
    }
    expect(shells[shell]).not.toContain("internal");
    expect(shells[shell]).not.toContain("secret");
  });

  it.skipIf(lacks(shell))("is a script that the shell reads", async () => {
    const file = join(await temporaryDirectory(), "completion");
    await writeFile(file, shells[shell]);
    expect(spawnSync(shell, ["-n", file], { encoding: "utf8" })).toMatchObject({ status: 0, stderr: "" });
  });
});

/** Zsh's own answer, from the functions that it would hand the words to. */
function zsh(script: string, words: readonly string[]): string[] {
  const functions =
    "compdef() { }; _files() { print -r files }; compadd() { shift; print -rl -- $@ }; " +
    "_describe() { print -rl -- ${(@)${(@P)4}%%:*} }";
  const array = words.map((word) => `'${word}'`).join(" ");
  const program = `${functions}\n${script}\nwords=(${array}); CURRENT=${words.length}\n_cairn`;
  const { stdout, stderr } = spawnSync("zsh", ["-f", "-c", program], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((line) => line !== "");
}

/** Fish's own answer. */
function fish(script: string, words: readonly string[]): string[] {
  const program = `${script}\ncomplete -C '${words.join(" ")}'`;
  const { stdout, stderr } = spawnSync("fish", ["--no-config", "-c", program], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t", 1)[0] ?? ""]));
}

const askers = { zsh, fish };

describe.each(["zsh", "fish"] as const)("%s itself", (shell) => {
  it.skipIf(lacks(shell)).each<[readonly string[], readonly string[]]>([
    [
      ["cairn", ""],
      ["memory", "shell", "start"],
    ],
    [
      ["cairn", "memory", ""],
      ["search", "stats"],
    ],
    [["cairn", "memory", "search", "--sc"], ["--scope"]],
    [
      ["cairn", "memory", "search", "--scope", ""],
      ["messages", "summaries"],
    ],
    [["cairn", "memory", "search", "--scope", "messages", "--o"], ["--out"]],
    [
      ["cairn", "shell", ""],
      ["bash", "fish"],
    ],
  ])("offers for %j among others %j", (words, expected) => {
    const offered = askers[shell](shells[shell], words);
    expect(offered).toEqual(expect.arrayContaining([...expected]));
    expect(offered).not.toContain("internal");
  });
});

it("is printed by a command that knows itself", async () => {
  const cli = await createCli();
  const { code, stdout } = await cli.run(["completion", "bash"]);
  expect(code).toBe(0);
  expect(bash(stdout, ["cairn", "compl"])).toEqual(["completion"]);
  expect(bash(stdout, ["cairn", "completion", "--"])).toContain("--json");
  expect((await cli.run(["completion", "tcsh"])).code).toBe(2);
});
