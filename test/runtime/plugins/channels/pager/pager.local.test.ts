/** The channel of docs/channel-plugins.md: as it stands there it keeps the contract. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ChannelHarness, channelConformance } from "../../../../../runtime/testing/channel/index.ts";
import { ROOT } from "../../../../../scripts/lib/paths.js";
import { recordingLogger } from "../../../../support/recording-logger.ts";
import { startPagerFake } from "./fake.ts";
import { pager } from "./manifest.ts";

const OWNER = "ada";

const harness: ChannelHarness = {
  lacks: ["edit", "drafts", "reactions"],
  async open() {
    const fake = await startPagerFake();
    const log: string[] = [];
    const logger = recordingLogger(log);
    const needs = { id: "pager", token: fake.token, ownerId: OWNER, baseUrl: fake.url, newId: () => "id", logger };
    // The bot may write to whom has written to it.
    fake.say(OWNER, "");
    return {
      channel: await pager.create(needs),
      conversation: OWNER,
      secret: fake.token,
      platform: {
        mostText: 200,
        shown: () => fake.sent,
        fail(fault) {
          fake.fault = fault;
        },
      },
      deliver: async ({ from, text }) => fake.say(from === "owner" ? OWNER : "eve", text),
      logged: () => log.join("\n"),
      close: () => fake.close(),
    };
  },
};

describe("the channel of the page", () => {
  for (const check of channelConformance(harness)) it(check.name, check.run);

  it.each(["manifest.ts", "api.ts", "index.ts"])("is shown there as it is: %s", async (name) => {
    const page = await readFile(join(ROOT, "docs/channel-plugins.md"), "utf8");
    const file = await readFile(new URL(name, import.meta.url), "utf8");
    // Its folder would be among those of the channels.
    const shown = file
      .replaceAll("../../../../../runtime/plugins/channels/", "../")
      .replaceAll("../../../../../runtime/", "../../../");
    expect(page).toContain(`\`\`\`ts\n${shown}\`\`\``);
  });
});
