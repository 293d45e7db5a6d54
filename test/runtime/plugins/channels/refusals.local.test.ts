/** What a person hears, on each platform, of what was refused since it was there before. */

import { describe, expect, it } from "vitest";
import { RuntimeError } from "../../../../runtime/contracts/errors.ts";
import { until } from "../../../support/eventually.ts";
import { PLATFORMS_WITH_FILES } from "../../../support/platforms-with-files.ts";
import { receiving, started } from "../../../support/receiving-channel.ts";

describe.each(Object.entries(PLATFORMS_WITH_FILES))("on %s", (_, start) => {
  it("a command that is refused says why; a message that was taken before says nothing", async () => {
    const platform = await start();
    const channel = platform.channel();
    const { commands, handlers } = await started(channel);
    let messages = 0;
    handlers.message = async () => {
      messages++;
      throw new RuntimeError("RUNTIME_CONFLICT", "Another message has this key.");
    };
    handlers.command = async () => {
      throw new RuntimeError("RUNTIME_CONFLICT", "What waits here has come this very moment.", { hint: "Read it." });
    };
    await receiving(channel).up();
    platform.owner("deploy");
    await until(() => messages === 1);
    platform.owner("/approve");
    await until(() => commands.length === 1 && platform.sent().length > 0);
    expect(platform.sent()).toEqual(["What waits here has come this very moment. Read it."]);
    expect(messages).toBe(1);
  });
});
