/** What every channel promises, whatever its platform. */

import { expect, it } from "vitest";
import type { Channel, OutboundMessage } from "../../runtime/contracts/channel.ts";

export interface ChannelFixture {
  readonly channel: Channel;
  /** A conversation of its platform. */
  readonly conversation: string;
}

/** `create` makes a new one for each test, connected to handlers and not started. */
export function channelContract(create: () => ChannelFixture | Promise<ChannelFixture>): void {
  const reply = ({ channel, conversation }: ChannelFixture): OutboundMessage => ({
    address: { channel: channel.id, conversation, user: "ada" },
    agent: "main",
    turnId: "t",
    text: "hello",
  });

  it("says how it is: connecting before its start, up after it, down when it has stopped, with reasons", async () => {
    const { channel } = await create();
    // How one is that receives on one node at a time, the node knows.
    expect(channel.state === undefined).toBe(channel.receiver !== undefined);
    if (channel.state === undefined) return;
    expect(channel.state()).toEqual({ state: "connecting", reason: expect.stringMatching(/./) });
    await channel.start();
    expect(channel.state()).toEqual({ state: "up", reason: null });
    await channel.stop();
    expect(channel.state()).toEqual({ state: "down", reason: expect.stringMatching(/./) });
  });

  it("stops without ever having started, and twice", async () => {
    const { channel } = await create();
    await channel.stop();
    await channel.stop();
  });

  it("gives back the platform's ids, or null where there are none, with and without files", async () => {
    const fixture = await create();
    const { channel } = fixture;
    await channel.start();
    const file = { name: "a.txt", mediaType: "text/plain", data: Buffer.from("a").toString("base64") };
    for (const message of [reply(fixture), { ...reply(fixture), attachments: [file] }]) {
      const sent = await channel.send(message);
      if (sent !== null) expect(sent).toEqual({ primary: expect.any(String), overflow: expect.any(Array) });
    }
    await channel.stop();
  });

  it("edits what it has sent, by the ids that it gave", async () => {
    const fixture = await create();
    const { channel, conversation } = fixture;
    await channel.start();
    const sent = await channel.send(reply(fixture));
    if (sent !== null && channel.edit) {
      const edited = await channel.edit(conversation, sent.primary, "other", sent.overflow);
      expect(edited?.primary).toBe(sent.primary);
    }
    await channel.stop();
  });

  it("changes what it has shown of a reply into the reply, where it shows replies that are written", async () => {
    const fixture = await create();
    const { channel, conversation } = fixture;
    await channel.start();
    expect(channel.draftPauseMs === undefined || channel.edit !== undefined).toBe(true);
    if (channel.draftPauseMs) {
      expect(channel.draftPauseMs(conversation)).toBeGreaterThan(0);
      const draft = await channel.send({ ...reply(fixture), text: "hel …" });
      const sent = draft && (await channel.send({ ...reply(fixture), draft }));
      expect(sent?.primary).toBe(draft?.primary);
    }
    await channel.stop();
  });
}
