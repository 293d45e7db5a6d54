/**
 * A node is killed at a step between a platform's message and its reply. After a restart on the same store the message is answered: it was
 * taken once, all of the reply stands in the chat, and where a part of it may stand there twice the reader is told so.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { startOpenAiFake } from "../../fakes/openai/index.ts";
import type { FakeReply } from "../../fakes/shared/script.ts";
import { EVENTUALLY_MS } from "../../lanes/patience.ts";
import { until } from "../eventually.ts";
import type { NodeProcess } from "../node-process.ts";
import { channelState } from "../receiving-nodes.ts";
import { databaseUrl, deploymentOf, runningNode } from "../running-node.ts";
import type { Chat, HeldRequest } from "./chats/chat.ts";
import { discordChat } from "./chats/discord.ts";
import { slackChat } from "./chats/slack.ts";
import { telegramChat } from "./chats/telegram.ts";
import { startDatabaseProxy } from "./database-proxy.ts";
import type { KillPoint } from "./wire-watcher.ts";

const EVENTUALLY = { timeout: EVENTUALLY_MS, interval: 50 };

export const PLATFORMS = {
  "Telegram, polling": () => telegramChat("polling"),
  "Telegram, webhook": () => telegramChat("webhook"),
  Discord: () => discordChat(),
  "Discord, later": () => discordChat({ isForgetful: true }),
  Slack: slackChat,
} as const satisfies Readonly<Record<string, () => Promise<Chat>>>;

export type Platform = keyof typeof PLATFORMS;

/** How the model behaves until the node is killed. */
type Model = "silent" | "slow" | "growing" | "quick" | "long" | "calls";

export interface ChatStep {
  readonly name: string;
  readonly model: Model;
  /** When the node is killed: at a statement of the store's, at a request of the platform's, or when it waits for something. */
  readonly at:
    | KillPoint
    | { readonly request: HeldRequest; readonly moment: "before" | "after"; readonly nth: number }
    | "asked the model"
    | "calls a tool";
  /** Whether some of the reply is sent twice, where the platform does not prevent it itself. */
  readonly isRepeated: boolean;
  readonly except: readonly Platform[];
}

const OF_DISCORD = ["Discord", "Discord, later"] as const satisfies readonly Platform[];

function statement(model: Model, when: KillPoint["when"], text: string, isRepeated = false, nth = 1): ChatStep {
  const name = `${when} ${text}${nth === 1 ? "" : ` (${nth})`}, model ${model}`;
  return { name, model, at: { statement: text, nth, when }, isRepeated, except: [] };
}

function request(
  model: Model,
  moment: "before" | "after",
  of: HeldRequest,
  {
    isRepeated = false,
    nth = 1,
    except = [],
  }: Partial<Pick<ChatStep, "isRepeated" | "except">> & { nth?: number } = {},
): ChatStep {
  const name = `${moment} the platform takes ${of} ${nth}, model ${model}`;
  return { name, model, at: { request: of, moment, nth }, isRepeated, except };
}

/** In the order in which a message passes them. */
export const CHAT_STEPS: readonly ChatStep[] = [
  statement("quick", "before", "inbox:accept"),
  statement("quick", "after", "inbox:accept"),
  { ...statement("silent", "before", "inbox:accept>lease:note"), except: ["Telegram, polling", "Telegram, webhook"] },
  { ...statement("silent", "after", "inbox:accept>lease:note"), except: ["Telegram, polling", "Telegram, webhook"] },
  request("silent", "before", "acknowledgement", { except: OF_DISCORD }),
  request("silent", "after", "acknowledgement", { except: [...OF_DISCORD, "Telegram, webhook", "Slack"] }),
  { name: "before the model's first word", model: "silent", at: "asked the model", isRepeated: false, except: [] },
  // The model's first words are what it says.
  request("slow", "before", "message", { isRepeated: false }),
  request("slow", "after", "message", { isRepeated: true }),
  // The first time before the message is sent, the second time with its id.
  statement("slow", "before", "turn:draft"),
  statement("slow", "after", "turn:draft"),
  statement("slow", "before", "turn:draft", true, 2),
  statement("slow", "after", "turn:draft", false, 2),
  request("slow", "before", "change"),
  request("slow", "after", "change"),
  // A draft that needs a second message.
  request("growing", "before", "message", { nth: 2 }),
  request("growing", "after", "message", { nth: 2, isRepeated: true }),
  { name: "in a tool call", model: "calls", at: "calls a tool", isRepeated: false, except: [] },
  statement("quick", "before", "turn:finish"),
  statement("quick", "after", "turn:finish"),
  statement("quick", "before", "turn:finish>outbox:take"),
  statement("quick", "after", "turn:finish>outbox:take"),
  request("quick", "before", "message"),
  request("quick", "after", "message", { isRepeated: true }),
  statement("quick", "before", "outbox:keep", true),
  statement("quick", "after", "outbox:keep"),
  statement("quick", "before", "outbox:sent"),
  statement("quick", "after", "outbox:sent"),
  request("long", "before", "message", { nth: 2 }),
  request("long", "after", "message", { nth: 2, isRepeated: true }),
  statement("long", "before", "outbox:keep", true, 2),
  statement("long", "after", "outbox:keep", false, 2),
];

const MAY_REPEAT = "(This may have reached you before.)";
const QUESTION = "the question";

const LONG: ReadonlySet<Model> = new Set(["growing", "long"]);

/** So many lines that a reply has several messages on each platform, or one. */
function linesOf(model: Model): readonly string[] {
  return Array.from({ length: LONG.has(model) ? 90 : 12 }, (_, n) => `line ${n + 1} of ${"the reply ".repeat(6)}.`);
}

/** The model's answer to the node that is killed is never whole where that is to happen before. */
function replyOf(model: Model, isKilled: boolean): FakeReply {
  const text = linesOf(model).map((line) => `${line}\n`);
  if (isKilled || model === "quick" || model === "long") return { text };
  if (model === "silent") return { fault: { kind: "hang" } };
  const never = { gate: "never", after: text.length };
  if (model === "slow") return { text, paceMs: 700, hold: never };
  if (model === "growing") return { text, paceMs: 30, hold: never };
  return { toolCalls: [{ id: "c1", name: "shell", arguments: { command: "echo begun >> effects.txt; sleep 30" } }] };
}

async function started(chat: Chat, deployment: Parameters<typeof runningNode>[0]): Promise<NodeProcess> {
  const node = await runningNode(deployment, { ownGroup: true });
  chat.attach(node);
  // Of a webhook Telegram says for a while that its deliveries have failed.
  const states = ["up", "degraded"];
  await until(async () =>
    states.includes((await channelState(node, chat.channel).catch(() => undefined))?.state ?? ""),
  );
  return node;
}

/** What of the reply stands in the chat more than once, and what does not. */
function countsOf(chat: Chat, lines: readonly string[]): { readonly missing: number; readonly repeated: number } {
  const counts = lines.map((line) => chat.shown().filter(({ text }) => text.includes(line)).length);
  return { missing: counts.filter((n) => n === 0).length, repeated: counts.filter((n) => n > 1).length };
}

/** A test for each of the steps. Takes 5 s each. */
export function describeKilledChats(platform: Platform, steps: readonly ChatStep[]): void {
  describe(`kill -9 between a message and its reply (${platform})`, () => {
    it.each(steps.filter(({ except }) => !except.includes(platform)))("$name", async (step) => {
      const { model, at } = step;
      const chat = await PLATFORMS[platform]();
      let isKilled = false;
      const fake = await startOpenAiFake({
        script: ({ lastUser }) => (lastUser.includes(QUESTION) ? replyOf(model, isKilled) : { text: "Fine." }),
      });
      onTestFinished(() => fake.close());
      const url = await databaseUrl();
      const proxy = await startDatabaseProxy(url);
      onTestFinished(() => proxy.close());
      const provider = { kind: "openai-compatible", base_url: fake.baseUrl, model: "fake", api_key: "none" };
      const reconnect = { initial_delay: "50ms", max_delay: "500ms" };
      const deployment = await deploymentOf({
        env: chat.env,
        config: {
          providers: { model: { ...provider, timeout: "120s" } },
          agents: { main: { provider: "model" } },
          tools: { shell: { sandbox: "none" } },
          memory: { postgres: { connection_string: proxy.url } },
          channels: { [chat.channel]: { ...chat.settings, reconnect } },
        },
      });
      const first = await started(chat, deployment);
      const kill = (): void => {
        isKilled = true;
        process.kill(-first.pid, "SIGKILL");
      };

      if (typeof at === "object" && "statement" in at) proxy.arm(at, kill);
      else void reached(at, { chat, fake, workspace: deployment.workspace }).then(kill);
      chat.say(QUESTION);
      expect(await first.exited, first.output()).toBe("SIGKILL");
      proxy.disarm();
      await aMinutePasses(url);

      const lines = linesOf(model);
      const next = await started(chat, deployment);
      await expect.poll(() => countsOf(chat, lines).missing, EVENTUALLY).toBe(0);
      // Else it is shown before it is whole.
      await expect.poll(() => chat.shown().at(-1)?.text, EVENTUALLY).not.toMatch(/…$/);
      chat.say("and then");
      await expect.poll(() => chat.shown().at(-1)?.text, EVENTUALLY).toBe("Fine.");
      await expect.poll(() => chat.unacknowledged(), EVENTUALLY).toBe(0);

      const isRepeated = step.isRepeated && (platform !== "Discord" || model === "slow" || model === "growing");
      expect(countsOf(chat, lines).repeated > 0).toBe(isRepeated);
      const marked = chat.shown().filter(({ text }) => text.includes(MAY_REPEAT));
      if (isRepeated) expect(marked).toHaveLength(1);
      expect(chat.shown().filter(({ text }) => text === "Fine.")).toHaveLength(1);

      const { messages } = await next.call<{ messages: { role: string; content: string; tool_name: string | null }[] }>(
        "/api/memory/tool/memory_browse",
        { order: "asc" },
      );
      expect(messages.map(({ role, content, tool_name }) => tool_name ?? `${role}: ${content.split("\n")[0]}`)).toEqual(
        [
          `user: ${QUESTION}`,
          ...(model === "calls" ? ["shell"] : []),
          `assistant: ${lines[0]}`,
          "user: and then",
          "assistant: Fine.",
        ],
      );
    });
  });
}

async function reached(
  at: Exclude<ChatStep["at"], KillPoint>,
  { chat, fake, workspace }: { chat: Chat; fake: { waitForRequests(count: number): Promise<void> }; workspace: string },
): Promise<void> {
  if (at === "asked the model") return fake.waitForRequests(1);
  if (at === "calls a tool") {
    return until(async () => (await readFile(join(workspace, "effects.txt"), "utf8").catch(() => "")) !== "");
  }
  await chat.held(at.request, at.moment, at.nth);
}

/** What a dead node has begun to send is sent again after a minute. */
async function aMinutePasses(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("update outbox set next_attempt_at = now() where state = 'pending'");
  await client.end();
}
