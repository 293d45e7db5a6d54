/** Codes that strangers are given and the owner approves: who is admitted, and what those who only try can cause. */

import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { createPairings } from "../../../runtime/app/pairings.ts";
import type { Stranger } from "../../../runtime/contracts/channel.ts";
import type { Database } from "../../../runtime/contracts/database.ts";
import { describeDatabase } from "../../support/databases.ts";
import { end, startHarness, text } from "../../support/turn-harness.ts";

describeDatabase("pairing", (open) => {
  let channels = 0;
  async function start() {
    const database = await open();
    const channel = `chat-${process.pid}-${++channels}`;
    const stranger = (user: string, more: Partial<Stranger> = {}): Stranger => ({
      channel,
      user,
      name: `User ${user}`,
      mayAsk: true,
      ...more,
    });
    return { database, channel, stranger, pairings: createPairings({ database, randomBytes }) };
  }
  const expire = (database: Database, channel: string) =>
    database.query(
      "update pairings set expires_at = now() - interval '1 second' where channel = $1 and code is not null",
      [channel],
    );
  const codeOf = (admission: object): string => ("code" in admission ? String(admission.code) : "none");

  it("gives a stranger a code once, and admits whom the owner has approved by it, however it is typed", async () => {
    const { pairings, stranger, channel } = await start();
    const asked = await pairings.admit(stranger("7"));
    expect(asked).toMatchObject({
      admitted: false,
      code: expect.stringMatching(/^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/),
    });
    expect(await pairings.admit(stranger("7"))).toEqual({ admitted: false, code: null });
    const code = codeOf(asked).toLowerCase().replace("-", " ");
    expect(await pairings.approve(code)).toMatchObject({ channel, user: "7", name: "User 7", expires_at: null });
    expect(await pairings.admit(stranger("7", { mayAsk: false }))).toEqual({ admitted: true });
    // It admits one person, once.
    await expect(pairings.approve(code)).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    expect(await pairings.admit({ ...stranger("7"), channel: `${channel}-other` })).toMatchObject({ admitted: false });
  });

  it("gives another one where the first could not be shown, unless it was approved all the same", async () => {
    const { pairings, stranger } = await start();
    const first = await pairings.admit(stranger("7"));
    await (first.admitted ? undefined : first.withdraw?.());
    await expect(pairings.approve(codeOf(first))).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    const second = await pairings.admit(stranger("7"));
    expect(codeOf(second)).toMatch(/-/);
    await pairings.approve(codeOf(second));
    await (second.admitted ? undefined : second.withdraw?.());
    expect(await pairings.admit(stranger("7"))).toEqual({ admitted: true });
  });

  it("gives none where others could read it", async () => {
    const { pairings, stranger } = await start();
    expect(await pairings.admit(stranger("7", { mayAsk: false }))).toEqual({ admitted: false, code: null });
    expect(codeOf(await pairings.admit(stranger("7")))).toMatch(/-/);
  });

  it("takes a code for an hour, and gives another one after that", async () => {
    const { database, pairings, stranger, channel } = await start();
    const first = codeOf(await pairings.admit(stranger("7")));
    await expire(database, channel);
    await expect(pairings.approve(first)).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    const second = codeOf(await pairings.admit(stranger("7", { name: "Another name" })));
    expect(second).not.toBe(first);
    expect(await pairings.approve(second)).toMatchObject({ name: "Another name" });
  });

  it("gives ten codes at once and no more, also where all ask in the same moment", async () => {
    const { database, pairings, stranger, channel } = await start();
    const asked = await Promise.all(Array.from({ length: 40 }, (_, n) => pairings.admit(stranger(`${n}`))));
    expect(asked.filter((admission) => codeOf(admission) !== "null")).toHaveLength(10);
    // From then on who asks can make nothing wait.
    const reading = createPairings({
      database: {
        query: (sql, values) => database.query(sql, values),
        transaction: () => Promise.reject(new Error("A transaction was begun.")),
      },
      randomBytes,
    });
    expect(await reading.admit(stranger("later"))).toEqual({ admitted: false, code: null });
    await expire(database, channel);
    expect(codeOf(await pairings.admit(stranger("later")))).toMatch(/-/);
  });

  it("lists who has asked and who is admitted, and admits nobody any more who is revoked", async () => {
    const { database, pairings, stranger, channel } = await start();
    await pairings.approve(codeOf(await pairings.admit(stranger("7"))));
    await pairings.admit(stranger("8", { name: "\0 name\u202e".repeat(40) }));
    const own = async () => (await pairings.list()).filter((pairing) => pairing.channel === channel);
    expect((await own()).map(({ user, approved_at }) => [user, approved_at === null])).toEqual([
      ["8", true],
      ["7", false],
    ]);
    expect(JSON.stringify(await own())).not.toMatch(/code/);
    expect(await pairings.revoke(channel, "7")).toMatchObject({ user: "7" });
    expect(await pairings.admit(stranger("7", { mayAsk: false }))).toEqual({ admitted: false, code: null });
    await expect(pairings.revoke(channel, "7")).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    await database.query("update pairings set expires_at = now() - interval '2 days' where channel = $1", [channel]);
    await pairings.prune();
    expect((await database.query("select 1 from pairings where channel = $1", [channel])).count).toBe(0);
  });

  it("is approved by the owner's /pair alone, which the audit log has", async () => {
    const database = await open();
    const harness = await startHarness({ database, script: () => [text("ok"), end()] });
    const pairings = createPairings({ database, randomBytes });
    const stranger = { channel: harness.channel.id, user: "7", name: "Eve", mayAsk: true };
    const code = codeOf(await pairings.admit(stranger));
    await expect(harness.command(`/pair ${code}`, "s1", "7")).rejects.toMatchObject({ code: "RUNTIME_FORBIDDEN" });
    await expect(harness.command("/pair")).rejects.toMatchObject({ code: "RUNTIME_INVALID_REQUEST" });
    await expect(harness.command("/pair AAAA-AAAA")).rejects.toMatchObject({ code: "RUNTIME_NOT_FOUND" });
    expect(await pairings.admit(stranger)).toMatchObject({ admitted: false });
    expect((await harness.command(`/pair ${code}`)).text).toContain("Eve (7) may write");
    expect(await pairings.admit(stranger)).toEqual({ admitted: true });
    expect(harness.securityEvents).toMatchObject([{ event: "pairing.approved", details: { user: "7" } }]);
    await harness.stop();
  });
});
