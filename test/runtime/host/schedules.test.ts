import { expect, test } from "vitest";
import { schedulesOf } from "../../../runtime/host/schedules.ts";
import { inspectText } from "../../support/deployment.ts";

/** Of an agent with these schedules, without their plans. */
async function schedules(yaml: string) {
  const { loaded, errors } = await inspectText(
    [
      "version: 1",
      "runtime: { timezone: Europe/Berlin }",
      "providers: { offline: {} }",
      'channels: { telegram: { token: "${TG}", owner_id: 42 }, agent: { owner_id: ada } }',
      `agents: { main: { schedules: [${yaml}] } }`,
    ].join("\n"),
    { env: { TG: "t" } },
  );
  expect(errors).toEqual([]);
  return loaded === null ? [] : schedulesOf(loaded.config, "agent").map(({ plan: _plan, ...schedule }) => schedule);
}

test("a schedule without a channel has a session of its own, and is named by its position without a name", async () => {
  expect(
    await schedules("{ name: a, cron: '0 8 * * *', prompt: x }, { cron: '0 9 * * *', prompt: y, timezone: UTC }"),
  ).toEqual([
    {
      agent: "main",
      name: "a",
      cron: "0 8 * * *",
      timezone: "Europe/Berlin",
      prompt: "x",
      enabled: true,
      address: { channel: "agent", conversation: "schedule:a", user: "" },
      sends: false,
    },
    expect.objectContaining({
      name: "2",
      timezone: "UTC",
      address: { channel: "agent", conversation: "schedule:2", user: "" },
    }),
  ]);
});

test("on a channel it speaks as the owner there: in the private conversation, or in the one that is named", async () => {
  const at = "cron: '0 8 * * *', prompt: x";
  expect(
    await schedules(
      `{ ${at}, channel: telegram }, { ${at}, channel: telegram, conversation: -100:7 }, { ${at}, channel: agent, conversation: desk }`,
    ),
  ).toMatchObject([
    { address: { channel: "telegram", conversation: "42", user: "42" }, sends: true },
    { address: { channel: "telegram", conversation: "-100:7", user: "42" }, sends: true },
    { address: { channel: "agent", conversation: "desk", user: "" }, sends: true },
  ]);
});
