/** What a person does in the first hour, on a real terminal: set up, start, tell something, and find it again. */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { onTestFinished } from "vitest";
import { ROOT } from "../../scripts/lib/paths.js";
import { startOllamaFake } from "../fakes/ollama/index.ts";
import { startOpenAiFake } from "../fakes/openai/index.ts";
import type { FakeScript } from "../fakes/shared/script.ts";
import { createFakeTools } from "./fake-tools.ts";
import { freePort } from "./ports.ts";
import { drawnRows, drawnRuns, type StyledText } from "./terminal/drawn.ts";
import { ENTER, follow, type Script } from "./terminal/setup-session.ts";
import { NO_CHANNELS } from "./terminal/targets.ts";
import { openTerminal, ROWS, type TerminalSession } from "./terminal/terminal.ts";

export const COLUMNS = 100;
export const FACT = "My boat is called Albatross.";
export const QUESTION = "What is my boat called?";

/** How a command is called: its words before those of the command, and what its environment has besides. */
export interface Program {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** As `npm run -s cairn --` does it. */
export const SOURCE_TREE: Program = {
  argv: [join(ROOT, "scripts", "run.js"), "cairn"],
  env: { npm_lifecycle_event: "cairn", INIT_CWD: ROOT },
  cwd: ROOT,
};

export interface Model {
  readonly env: NodeJS.ProcessEnv;
  /** What is asked about it in the setup, beside what is always asked. */
  readonly provider: Script;
  readonly memory: Script;
  /** What the agent answers to the fact, and to the question. */
  readonly noted: string;
  readonly answer: string;
}

/** Nothing answers there. */
const NO_OLLAMA = "127.0.0.1:1";
/** Says what its prompt has of the boat, and nothing else. */
const boats: FakeScript = ({ lastUser, system, texts }) => {
  if (!lastUser.includes(QUESTION)) return { text: "Noted: a good name for a boat." };
  const isNamed = [system, ...texts].some((text) => text.includes(FACT));
  return { text: isNamed ? "Your boat is called Albatross." : "I do not know." };
};

/** An agent without a model is not asked. */
const THINKING: Script[number] = ["How long shall main think?", ENTER];

export const MODELS: Readonly<Record<"none" | "ollama" | "key", () => Promise<Model>>> = {
  none: async () => ({
    env: { OLLAMA_HOST: NO_OLLAMA },
    provider: [["Language model provider", ENTER]],
    memory: [],
    noted: "Noted: what you write is kept in memory",
    answer: "My boat is called Albatross.",
  }),
  ollama: async () => {
    const server = await startOllamaFake(["nomic-embed-text:latest", "qwen3:8b"], { script: boats });
    onTestFinished(() => server.close());
    return {
      env: { OLLAMA_HOST: server.url },
      provider: [
        ["Language model provider", ENTER],
        ["Address of ollama", ENTER],
        ["Model of ollama", ENTER],
        THINKING,
      ],
      memory: [
        ["Search the memory by meaning", ENTER],
        ["Let ollama summarize old messages", ENTER],
      ],
      noted: "Noted: a good name for a boat.",
      answer: "Your boat is called Albatross.",
    };
  },
  key: async () => {
    const apiKey = "sk-of-the-first-hour";
    const server = await startOpenAiFake({ script: boats, apiKey });
    onTestFinished(() => server.close());
    return {
      env: { OLLAMA_HOST: NO_OLLAMA, OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: server.baseUrl },
      provider: [
        ["Language model provider", ENTER],
        ["Address of openai", ENTER],
        ["Model of openai", ENTER],
        ["Variable that holds the key of openai", ENTER],
        THINKING,
      ],
      memory: [["Copy from the environment into .env", `y${ENTER}`]],
      noted: "Noted: a good name for a boat.",
      answer: "Your boat is called Albatross.",
    };
  },
};

export interface FirstHour {
  /** What each terminal showed, by what was done on it. */
  readonly screens: Readonly<Record<"setup and talk" | "search" | "another talk", string>>;
  /** The first terminal as it looked after each step until the fact is noted, then a second one. */
  readonly frames: readonly (readonly (readonly StyledText[])[])[];
  readonly codes: readonly (number | null)[];
}

/** From an empty home to a found memory. Each step waits for what the one before it has shown. */
export async function firstHour(program: Program, { env, provider, memory, noted, answer }: Model): Promise<FirstHour> {
  // Of one length, so that lines are broken at the same words.
  const home = await mkdtemp(join(tmpdir(), "cairn-first-hour-"));
  onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  const cwd = join(home, "here");
  await mkdir(cwd);
  const tools = await createFakeTools();
  onTestFinished(() => tools.remove());
  const port = String(await freePort());
  const path = [
    ...(program.env.PATH === undefined ? [] : [program.env.PATH]),
    tools.directory,
    dirname(process.execPath),
  ];
  const open = (...argv: string[]): TerminalSession =>
    openTerminal([...program.argv, ...argv], {
      cwd: program.cwd ?? cwd,
      columns: COLUMNS,
      env: { ...program.env, ...env, PATH: path.join(":"), HOME: home },
    });
  const runsOf = (session: TerminalSession) => drawnRuns(session.written(), { columns: COLUMNS, rows: ROWS });
  const frames: StyledText[][][] = [];
  const first = open("init");
  const play = async (script: Script): Promise<void> => {
    for (const [wanted, keys] of script) {
      await first.until(wanted);
      frames.push(await runsOf(first));
      first.type(keys);
    }
  };
  await play([
    ["Where shall the service run?", ENTER],
    ["Where shall the memory be stored?", ENTER],
    ["Address of the HTTP server", `127.0.0.1:${port}${ENTER}`],
    ["Time zone", `UTC${ENTER}`],
    ["Names of the agents", ENTER],
    ...provider,
    ...memory,
    ...NO_CHANNELS,
    ["Write this?", ENTER],
    ["Start it now?", ENTER],
    ["The node is ready.", ""],
    ["quit: the node ends, too", "c"],
    ["/help lists the commands", FACT],
    ["Albatross.", ENTER],
    [noted, ""],
  ]);
  const search = open("memory", "search", "albatross");
  const found = await search.ended;
  const second = [...typedAt("cairn memory search albatross"), ...(await runsOf(search))];
  frames.push(second);
  const again = open("chat", "--session", "another", QUESTION);
  await again.until(answer);
  const answered = await again.ended;
  frames.push([...second, [], ...typedAt(`cairn chat --session another "${QUESTION}"`), ...(await runsOf(again))]);
  first.type(`/exit${ENTER}`);
  await follow(first, [
    ["The node is ready.", ""],
    ["quit: the node ends, too", "q"],
    ["The node has stopped.", ""],
  ]);
  const codes = [await first.ended, found, answered];
  const screen = async (session: TerminalSession): Promise<string> =>
    masked((await drawnRows(session.written(), { columns: COLUMNS, rows: ROWS })).join("\n"), { home, port, env });
  const placedRun = (run: StyledText): StyledText => ({ ...run, text: placed(run.text, { home, port, env }) });
  return {
    screens: {
      "setup and talk": await screen(first),
      // What else means the same depends on what has a vector by then.
      search: (await screen(search)).split("\n\n")[0] ?? "",
      "another talk": await screen(again),
    },
    frames: frames.map((rows) => rows.map((runs) => runs.map(placedRun))),
    codes,
  };
}

interface Varying {
  readonly home: string;
  readonly port: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A shell's line with that command. */
function typedAt(command: string): StyledText[][] {
  return [
    [
      { text: "$ ", colour: 2, bold: false, dim: false },
      { text: command, colour: null, bold: true, dim: false },
    ],
  ];
}

/** With the home and the ports that they usually are. */
function placed(text: string, { home, port, env }: Varying): string {
  const ports = Object.values(env).flatMap((value) => /:(\d+)/.exec(value ?? "")?.[1] ?? []);
  const replaced = text.replaceAll(home, "~").replaceAll(`:${port}`, ":7433");
  return ports
    .filter((one) => one.length > 1)
    .reduce((current, one) => current.replaceAll(`:${one}`, ":11434"), replaced);
}

/** What is another at each run, or on another machine, by a word of its own. */
function masked(text: string, varying: Varying): string {
  return placed(text, varying)
    .replaceAll(ROOT, "TREE")
    .replace(/Node\.js( +)\d+\.\d+\.\d+/, "Node.js$1VERSION")
    .replace(/^Note: tools\.shell:[\s\S]*?(?=^\S|(?![\s\S]))/gm, "")
    .replace(/^sandbox [\s\S]*?(?=^url )/gm, "sandbox    SANDBOX\n")
    .replace(/score \d\.\d+/g, "score SCORE")
    .replace(/\d{4}-\d\d-\d\d/g, "DATE")
    .replace(/\b\d\d:\d\d(?::\d\d)?\b/g, "TIME")
    .replace(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g, "ID");
}
