/** A file that an agent sends, as each platform gets it: once, before the reply, where the message was written. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Channel } from "../../../../runtime/contracts/channel.ts";
import { createDiscordChannel } from "../../../../runtime/plugins/channels/discord/index.ts";
import { createSlackChannel } from "../../../../runtime/plugins/channels/slack/index.ts";
import { createTelegramChannel } from "../../../../runtime/plugins/channels/telegram/index.ts";
import { createSendFileTool } from "../../../../runtime/plugins/tools/send-file/index.ts";
import { createWorkspaceGate } from "../../../../runtime/plugins/tools/shared/locate.ts";
import { startDiscordFake } from "../../../fakes/discord/index.ts";
import { startSlackFake } from "../../../fakes/slack/index.ts";
import { startTelegramFake } from "../../../fakes/telegram/index.ts";
import { describeDatabase, quietLogger } from "../../../support/databases.ts";
import { temporaryDirectory } from "../../../support/deployment.ts";
import { end, startHarness, text, toolCall } from "../../../support/turn-harness.ts";

interface Platform {
  readonly channel: Channel;
  readonly conversation: string;
  /** Texts, and files as `name: content`, in the order of sending. */
  sent(): readonly string[];
}

const needs = { newId: () => "id", logger: quietLogger };
const shown = (said: string, [file]: readonly { readonly name: string; readonly bytes: Buffer }[]): string =>
  file === undefined ? said : `${file.name}: ${file.bytes.toString("latin1")}`;

const PLATFORMS: Readonly<Record<string, () => Promise<Platform>>> = {
  async telegram() {
    const fake = await startTelegramFake();
    const bot = fake.bot();
    bot.say("hello", { chat: 1 });
    return {
      channel: createTelegramChannel({ ...needs, id: "telegram", token: bot.token, ownerId: "1", baseUrl: fake.url }),
      conversation: "1",
      sent: () => bot.state.sent.map((message) => shown(message.text, message.files)),
    };
  },
  async discord() {
    const fake = await startDiscordFake();
    const bot = fake.bot();
    return {
      channel: createDiscordChannel({ ...needs, id: "discord", token: bot.token, ownerId: "1", baseUrl: fake.url }),
      conversation: bot.direct,
      sent: () => bot.sent().map(({ content, files }) => shown(content, files)),
    };
  },
  async slack() {
    const fake = await startSlackFake();
    const app = fake.app();
    const { token, appToken } = app.state;
    return {
      channel: createSlackChannel({ ...needs, id: "slack", token, appToken, ownerId: "U1", baseUrl: fake.url }),
      conversation: app.direct,
      sent: () => app.sent().map((message) => shown(message.text, message.files)),
    };
  },
};

describeDatabase("a file that an agent sends", (open) => {
  it.each(Object.keys(PLATFORMS))("reaches %s with its words, before the reply", async (name) => {
    const workspace = await temporaryDirectory();
    await writeFile(join(workspace, "data.csv"), "a;b\n1;\u00e9\n");
    await writeFile(join(workspace, "large.bin"), Buffer.alloc(11 * 1024 ** 2, 1));
    const platform = await PLATFORMS[name]?.();
    if (!platform) throw new Error("unreachable");
    const { channel, conversation, sent } = platform;
    const calls = [
      toolCall("c1", "send_file", { path: "data.csv", caption: "The numbers." }),
      ...(name === "discord" ? [toolCall("c2", "send_file", { path: "large.bin" })] : []),
    ];
    const harness = await startHarness({
      database: await open(),
      channel,
      agent: { workspace },
      tools: [createSendFileTool({ gate: createWorkspaceGate({ protectedPaths: [] }) })],
      script: ({ messages }) => {
        const results = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
        return results.length > 0 ? [text(`Done. ${results.at(-1)}`), end()] : [...calls, end("tool_calls")];
      },
    });
    onTestFinished(async () => {
      await harness.stop();
      await channel.stop();
    });
    const { text: reply } = await harness.say("go", { session: conversation });
    // What the platform does not take, the agent hears, and not the user.
    if (name === "discord") expect(reply).toContain("at most 10485760 bytes is taken by the platform");
    await expect.poll(sent, { timeout: 20_000 }).toHaveLength(3);
    const file = `data.csv: ${Buffer.from("a;b\n1;\u00e9\n").toString("latin1")}`;
    expect(sent().slice(0, 2)).toEqual(["The numbers.", file]);
    expect(sent()[2]).toMatch(/^Done/);
  });
});
