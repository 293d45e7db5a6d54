/** Plays a script on a channel of a node of its own: each line when the one before has been answered. */

import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { type FakeServer, startOpenAiFake } from "../../fakes/openai/index.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { until } from "../eventually.ts";
import type { Deployment, NodeProcess } from "../node-process.ts";
import { deploymentOf, killed, runningNode } from "../running-node.ts";
import type { ChatSide } from "./chat-side.ts";
import { type Exchange, gateOf, isExchange, numberIn, type ScriptEntry } from "./exchanges.ts";
import { problemsOf, storedTurns } from "./transcript.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 250 };
const ASKING = { nodeOptions: ["--import", fileURLToPath(new URL("../faults/asking-tool.ts", import.meta.url))] };
/** In messages that a person edits. */
const CHANGED = "changed afterwards";

/** Resolves when the transcript is what was said and what the chat shows. */
export async function converse(side: ChatSide, channel: string, script: readonly ScriptEntry[]): Promise<void> {
  const exchanges = new Map(script.filter(isExchange).map((one) => [numberIn(one.said), one]));
  const model = await startOpenAiFake({
    script({ lastUser, step }) {
      const reply = exchanges.get(numberIn(lastUser))?.replies[step];
      return reply ?? { text: `nothing is planned for ${lastUser.slice(-80)}` };
    },
  });
  onTestFinished(() => model.close());
  const deployment = await deploymentOf({
    env: side.env,
    config: {
      runtime: { lease: "10s" },
      providers: {
        model: {
          kind: "openai-compatible",
          base_url: model.baseUrl,
          model: "m",
          api_key: "key",
          context_window: 1_000_000,
          max_retries: 0,
        },
      },
      agents: { main: { provider: "model" } },
      ...side.config,
    },
  });
  const played = new Played(side, channel, { model, deployment });
  await played.start();
  for (const line of script) await played.line(line);
  await played.isComplete();
}

class Played {
  readonly #side: ChatSide;
  readonly #channel: string;
  readonly #model: FakeServer;
  readonly #deployment: Deployment;
  readonly #said: Exchange[] = [];
  #node: NodeProcess | undefined;

  constructor(side: ChatSide, channel: string, by: { readonly model: FakeServer; readonly deployment: Deployment }) {
    this.#side = side;
    this.#channel = channel;
    this.#model = by.model;
    this.#deployment = by.deployment;
  }

  async start(): Promise<void> {
    this.#node = await runningNode(this.#deployment, ASKING);
    await this.#side.attach(this.#node);
  }

  async line(line: ScriptEntry): Promise<void> {
    if (!isExchange(line)) return this.#command(line.command, line.answer);
    const { trouble, said, file, isUnawaited } = line;
    this.#said.push(line);
    if (trouble === "rate-limited") this.#side.limit();
    await this.#side.say(said, file);
    if (trouble !== undefined) await this.#meet(line);
    if (!isUnawaited) await this.isComplete();
  }

  /** Nothing is lost, and nothing twice. */
  async isComplete(): Promise<void> {
    const { rendered = (reply: string) => reply } = this.#side;
    const problems = async () => {
      const turns = await storedTurns(this.#running, this.#channel);
      const shownAs = turns.map((turn) => ({ ...turn, replies: turn.replies.map(rendered) }));
      return problemsOf(this.#side.shown(), shownAs, this.#said);
    };
    await expect.poll(problems, EVENTUALLY).toEqual([]);
  }

  get #running(): NodeProcess {
    if (this.#node === undefined) throw new Error("no node runs");
    return this.#node;
  }

  /** What a person does while the agent writes, and what happens then. */
  async #meet({ trouble, said }: Exchange): Promise<void> {
    const n = numberIn(said);
    const requests = () => this.#model.requests.filter(({ lastUser }) => numberIn(lastUser) === n);
    if (trouble === "failed" || trouble === "rate-limited") return;
    if (trouble === "edited") return this.#side.edit?.(`${said} ${CHANGED}`);
    if (trouble === "deleted") return this.#side.remove?.();
    await until(() => requests().length > 0);
    if (trouble === "asked") {
      // Buttons may come in a message of their own behind it.
      await until(() =>
        this.#side
          .shown()
          .slice(-2)
          .some(({ text }) => text.includes("Which one?")),
      );
      return this.#side.choose("red");
    }
    if (trouble === "stopped") {
      await until(() => requests().some(({ state }) => state === "open"));
      await this.#side.stop();
      return;
    }
    if (trouble === "dropped") {
      this.#side.drop();
      this.#model.release(gateOf(n));
      await until(() => requests().some(({ state }) => state === "answered"));
      this.#side.restore();
      return;
    }
    if (trouble === "killed-unsent") {
      this.#side.drop();
      this.#model.release(gateOf(n));
      await until(async () => (await storedTurns(this.#running, this.#channel)).at(-1)?.replies.length);
    }
    await killed(this.#running);
    this.#model.release(gateOf(n));
    this.#side.restore();
    await this.start();
  }

  async #command(line: string, answer: RegExp): Promise<void> {
    if (this.#side.command === undefined) return;
    const answers = () => this.#side.shown().filter(({ by, isCommand }) => by === "agent" && isCommand);
    const before = answers().length;
    await this.#side.command(line);
    await expect.poll(() => answers().length, EVENTUALLY).toBe(before + 1);
    expect(answers().at(-1)?.text).toMatch(answer);
  }
}
