/** Entry of the command line: finds the command, and reports what goes wrong before one runs. */

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { Config } from "@oclif/core/config";
import { run } from "@oclif/core/run";
import { closest } from "fastest-levenshtein";
import { reportFailure } from "./base-command.ts";
import { EXIT, OutputClosed, UsageError } from "./output/failure.ts";
import { ownOutput, processTerminal } from "./output/terminal.ts";

const SOURCES = "./control/commands";

/**
 * Runs one command line. `root` is the directory of package.json. The outcome is in `process.exitCode`; the process ends
 * by itself, except after an interruption, where something may still be waiting.
 */
export async function main(argv: readonly string[], root: string): Promise<void> {
  const terminal = processTerminal();
  ownOutput();
  const options = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  try {
    const config = await loadCommands(root, argv);
    const line = argv[0] === "help" ? [...argv.slice(1), "--help"] : [...argv];
    const unknown = unknownCommand(line, config.commandIDs, config.topics);
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
    pjson: { ...pjson, oclif: { ...pjson.oclif, commands } },
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

/** oclif would say no more than "command x not found". */
function unknownCommand(
  argv: readonly string[],
  ids: readonly string[],
  topics: readonly { readonly name: string }[],
): UsageError | null {
  const words: string[] = [];
  for (const word of argv) {
    if (word.startsWith("-")) break;
    words.push(word);
  }
  const isTopic = (id: string): boolean =>
    topics.some(({ name }) => name === id) || ids.some((one) => one.startsWith(`${id}:`));
  // The first word that is neither a command nor a topic; behind a command come its arguments.
  const count = words.findIndex((_word, index) => {
    const id = words.slice(0, index + 1).join(":");
    return ids.includes(id) || !isTopic(id);
  });
  if (count === -1 || ids.includes(words.slice(0, count + 1).join(":"))) return null;
  const typed = words.slice(0, count + 1).join(" ");
  const nearest = closest(
    typed,
    ids.map((id) => id.replaceAll(":", " ")),
  );
  return new UsageError(
    `There is no command \`${typed}\`.`,
    `Did you mean \`cairn ${nearest}\`? See \`cairn --help\`.`,
  );
}
