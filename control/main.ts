/** Entry of the command line: finds the command, and reports what goes wrong before one runs. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import type { Command } from "@oclif/core/command";
import { Config } from "@oclif/core/config";
import { run } from "@oclif/core/run";
import { reportFailure } from "./base-command.ts";
import { EXIT, OutputClosed } from "./output/failure.ts";
import { ownOutput, processTerminal } from "./output/terminal.ts";
import { unknownCommand } from "./unknown-command.ts";

const SOURCES = "./control/commands";
const HELP_SOURCE = "./control/help.ts";

/**
 * Runs one command line. `root` is the directory of package.json. The outcome is in `process.exitCode`; the process ends
 * by itself, except after an interruption, where something may still be waiting.
 */
export async function main(argv: readonly string[], root: string): Promise<void> {
  const terminal = processTerminal();
  ownOutput();
  const options = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  try {
    const line = lineOf(argv);
    const config = await loadCommands(root, line);
    const unknown = unknownCommand(line, {
      ids: config.commandIDs.map(typed),
      withArguments: new Set(config.commands.filter(takesArguments).map(({ id }) => typed(id))),
    });
    if (unknown) throw unknown;
    await run(line, config);
  } catch (error) {
    if (!(error instanceof OutputClosed)) {
      await reportFailure(error, { json: options.includes("--json") && "document", terminal, argv });
    }
  }
  if (process.exitCode === EXIT.interrupted || process.exitCode === EXIT.terminated) process.exit();
}

/** Compiled, the commands are read from a manifest; as sources they are found by looking into their folder. */
async function loadCommands(root: string, argv: readonly string[]): Promise<Config> {
  if (!import.meta.url.endsWith(".ts")) return Config.load({ root });
  const pjson = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const commands = { strategy: "pattern", target: SOURCES, globPatterns: [sourceOf(join(root, SOURCES), argv)] };
  return Config.load({
    root,
    isRoot: true,
    ignoreManifest: true,
    pjson: { ...pjson, oclif: { ...pjson.oclif, commands, helpClass: HELP_SOURCE } },
  });
}

/**
 * Every file that matches is loaded, which takes longer than most commands: the requested one is enough, unless it
 * lists the others.
 */
function sourceOf(folder: string, argv: readonly string[]): string {
  const options = argv.findIndex((word) => !/^[a-z][a-z-]*$/.test(word));
  const words = options === -1 ? argv : argv.slice(0, options);
  const namesOtherCommands = words[0] === "completion" || argv.includes("--help");
  const file = [3, 2, 1]
    .map((count) => `${words.slice(0, count).join("/")}.ts`)
    .find((name) => existsSync(join(folder, name)));
  return namesOtherCommands || file === undefined ? "**/*.ts" : file;
}

/** `help chat` is `chat --help`, and `-v` and `--version` are `version`. */
function lineOf(argv: readonly string[]): string[] {
  if (argv[0] === "help") return [...argv.slice(1), "--help"];
  return argv.length === 1 && (argv[0] === "-v" || argv[0] === "--version") ? ["version"] : [...argv];
}

function typed(id: string): string {
  return id.replaceAll(":", " ");
}

function takesArguments({ args, strict }: Command.Loadable): boolean {
  return strict === false || Object.keys(args).length > 0;
}
