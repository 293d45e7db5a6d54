/** An operator at work in a deployment directory of a test's own: the commands as they are typed, each with its document. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { expect, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { SCHEMAS } from "../../control/deploy/schemas.ts";
import { CAIRN } from "./commands.ts";
import { temporaryDirectory } from "./deployment.ts";

/** A command that runs. */
export interface Signalled {
  kill(signal: NodeJS.Signals): boolean;
}

export interface Operator {
  readonly dir: string;
  /** Puts the configuration into cairn.yaml. */
  configure(config: object): Promise<void>;
  /** The document of a command that succeeds; where its schema is published it has been checked. */
  cairn<T>(...args: string[]): Promise<T>;
  /** The same of a command whose exit status is a part of its answer, such as `infra status`. */
  document<T>(...args: string[]): Promise<T>;
  /** The error of a command that fails. */
  refused(...args: string[]): Promise<{ readonly code: string; readonly message: string; readonly hint: string }>;
  /** The same as `cairn`, and what the command says beside it is heard as it comes. */
  heard<T>(hear: (words: string) => void, ...args: string[]): Promise<T>;
  /** `exec`: what the command prints and how it ends; what comes before `--` may be given with it. */
  enter(
    words: readonly string[],
    input?: string,
  ): Promise<{ readonly code: number | undefined; readonly stdout: string }>;
  /** Starts a command and kills it, without a word of warning, as soon as it has said this. */
  killedAt(words: string, ...args: string[]): Promise<void>;
  /** Does something else as soon as a command has said this; resolves with the command's document, or with that of its error. */
  meanwhile<T>(words: string, act: (command: Signalled) => unknown, ...args: string[]): Promise<T>;
  /** What the agent answers in the one session of the test. */
  say(text: string): Promise<string>;
  /** Everything that commands have printed. */
  printed(): string;
  /** Every file below infra/, as one text, other people's packages left out. */
  kept(): Promise<string>;
}

/**
 * `token`: the owner's. `environment`: on top of this process's own. `before`: words that stand before each command, such as those
 * that run it in another network. Ends with the test.
 */
export async function operator(
  token: string,
  environment: Readonly<Record<string, string>> = {},
  before: () => readonly string[] = () => [],
): Promise<Operator> {
  const dir = await temporaryDirectory();
  await writeFile(join(dir, ".env"), `SERVICE_API_TOKEN=${token}\n`, { mode: 0o600 });
  const env = { ...environment, SERVICE_HOME: join(dir, "home"), SERVICE_API_TOKEN: "" };
  const outputs: string[] = [];

  const command = (args: readonly string[]): readonly [string, string[]] => {
    const [program, ...rest] = [...before(), process.execPath, CAIRN, ...args];
    return [program ?? process.execPath, rest];
  };
  const run = async (args: readonly string[], hear: (words: string) => void = () => undefined) => {
    const child = execa(...command([...args, "--json"]), {
      cwd: dir,
      env,
      reject: false,
      stdin: "ignore",
    });
    child.stderr.on("data", (chunk: Buffer) => hear(chunk.toString("utf8")));
    const result = await child;
    outputs.push(result.stdout, result.stderr);
    return result;
  };
  const checked = <T>(args: readonly string[], stdout: string): T => {
    const document = JSON.parse(stdout);
    schemaOf(args)?.parse(document);
    return document;
  };
  const heard = async <T>(hear: (words: string) => void, ...args: string[]): Promise<T> => {
    const { exitCode, stdout, stderr } = await run(args, hear);
    expect(exitCode, `${args.join(" ")}: ${stdout}${stderr}`).toBe(0);
    return checked(args, stdout);
  };
  const cairn = <T>(...args: string[]): Promise<T> => heard(() => undefined, ...args);
  return {
    dir,
    cairn,
    heard,
    document: async <T>(...args: string[]) => checked<T>(args, (await run(args)).stdout),
    configure: (config) => writeFile(join(dir, "cairn.yaml"), stringify(config)),
    async refused(...args) {
      const { exitCode, stdout } = await run(args);
      expect(exitCode, `${args.join(" ")}: ${stdout}`).not.toBe(0);
      return JSON.parse(stdout).error;
    },
    async enter(words, input = "") {
      const argv = words.includes("--") ? words : ["--", ...words];
      const options = { cwd: dir, env, reject: false, input, stripFinalNewline: false } as const;
      const { exitCode, stdout } = await execa(...command(["exec", ...argv]), options);
      return { code: exitCode, stdout };
    },
    async killedAt(words, ...args) {
      const child = spawn(...command(args), {
        cwd: dir,
        env: { ...process.env, ...env },
        stdio: ["ignore", "ignore", "pipe"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      await kill(child, words);
    },
    async meanwhile<T>(words: string, act: (command: Signalled) => unknown, ...args: string[]) {
      const child = execa(...command([...args, "--json", "--json-events"]), {
        cwd: dir,
        env,
        reject: false,
        stdin: "ignore",
      });
      let acted: Promise<unknown> | undefined;
      let said = "";
      child.stderr.on("data", (chunk: Buffer) => {
        said += chunk.toString("utf8");
        // At once: the command goes on.
        if (said.includes(words)) acted ??= new Promise((resolve) => resolve(act(child)));
      });
      const { stdout } = await child;
      expect(acted, `${said}${stdout}`).toBeDefined();
      await acted;
      return JSON.parse(stdout) as T;
    },
    say: async (text) => (await cairn<{ text: string }>("chat", "--session", "s", text)).text,
    printed: () => outputs.join("\n"),
    async kept() {
      const entries = await readdir(join(dir, "infra"), { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes("node_modules"));
      return (await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name), "utf8")))).join("\n");
    },
  };
}

async function kill(child: ChildProcess, words: string): Promise<void> {
  let said = "";
  let killed = false;
  child.stderr?.on("data", (chunk: Buffer) => {
    said += chunk.toString("utf8");
    if (said.includes(words)) killed = child.kill("SIGKILL") || killed;
  });
  await once(child, "exit");
  expect(killed, said).toBe(true);
}

function schemaOf(args: readonly string[]) {
  const name = args[0] === "infra" ? `infra-${args[1]}` : args[0];
  return Object.entries(SCHEMAS).find(([candidate]) => candidate === name)?.[1];
}
