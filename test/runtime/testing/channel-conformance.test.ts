import { AssertionError } from "node:assert";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Channel, InboundMessage } from "../../../runtime/contracts/channel.ts";
import { ChannelError } from "../../../runtime/contracts/errors.ts";
import { channelConformance } from "../../../runtime/testing/channel/index.ts";
import { type ChatParts, pushedChat, receivingChat } from "../../support/chat-harness.ts";

/** The checks for authors of channels: right channels pass them all, and each one finds a channel that is broken in its way. */

type Break = (right: Channel, parts: ChatParts) => Channel;
/** What breaks a channel, and a part of what the check says of it. */
type Broken = readonly [Break, string];

const accepted = { turnId: "t", agent: "main", fresh: true };

/** Changes what `send` is given, or does. */
const sending =
  (send: (right: Channel["send"], ...given: Parameters<Channel["send"]>) => ReturnType<Channel["send"]>): Break =>
  (right) => ({ ...right, send: (...given) => send(right.send, ...given) });

const editing =
  (edit: (right: NonNullable<Channel["edit"]>, parts: ChatParts) => NonNullable<Channel["edit"]>): Break =>
  (right, parts) =>
    right.edit ? { ...right, edit: edit(right.edit, parts) } : right;

const receiving =
  (receive: (right: NonNullable<Channel["receiver"]>, parts: ChatParts) => Partial<Channel["receiver"]>): Break =>
  (right, parts) =>
    right.receiver ? { ...right, receiver: { ...right.receiver, ...receive(right.receiver, parts) } } : right;

/** Every failure as an error of its own. */
const failing = (errorOf: (secret: string, error: unknown) => Error): Break => {
  return (right, { secret }) => ({
    ...right,
    send: (message, keep) =>
      right.send(message, keep).catch((error: unknown) => Promise.reject(errorOf(secret, error))),
  });
};
const leaking = (code: "CHANNEL_CONNECTION_LOST" | "CHANNEL_REFUSED") =>
  failing((secret) => Object.assign(new ChannelError(code, "Failed."), { request: { url: `https://bot/${secret}` } }));

const everybodyIsOwner: Break = (right) => ({
  ...right,
  onMessage: (handler) => right.onMessage((message) => handler({ ...message, owner: true })),
});

/** With each receiver everything comes again. */
const forgetful: Break = (right, parts) => {
  const all: InboundMessage[] = [];
  const { inbox } = parts;
  const { put } = inbox;
  inbox.put = (message) => {
    all.push(message);
    put.call(inbox, message);
  };
  const change = receiving(({ receive }) => ({
    receive(reception) {
      inbox.waiting.splice(0, Number.POSITIVE_INFINITY, ...all);
      return receive(reception);
    },
  }));
  return change(right, parts);
};

const BROKEN: Readonly<Record<string, readonly Broken[]>> = {
  "has what the harness says, and nothing of what it lacks": [
    [(right) => ({ ...right, id: "" }), "the id must not be empty"],
    [({ edit: _, ...right }) => right, "whether it has edit"],
    [({ react: _, ...right }) => right, "whether it has reactions"],
    [receiving(() => ({ account: "" })), "the receiver's account must not be empty"],
  ],
  "says how it is, with reasons, where each node receives for itself; with a receiver the node does": [
    [(right) => ({ ...right, state: () => ({ state: "up", reason: null }) }), "whether it has no state"],
    [
      ({ receiver: _, ...right }) => ({ ...right, state: () => ({ state: "up", reason: null }) }),
      "the state before its start",
    ],
  ],
  "stops without ever having started, and twice": [
    [
      (right) => {
        let stops = 0;
        const stop = async () => {
          if (++stops === 2) throw new Error("stopped already");
        };
        return { ...right, stop };
      },
      "a second stop",
    ],
  ],
  "shows that it types while turns run, as often as it is asked, and takes as many ends": [
    [({ stopTyping: _, ...right }) => right, "it would type for ever"],
    [(right) => ({ ...right, startTyping: async () => undefined }), "it has to be shown that it types"],
    [(right) => ({ ...right, stopTyping: () => Promise.reject(new Error("unknown")) }), "the first turn's stopTyping"],
  ],
  "gives back the ids of all that it has sent, with and without files, or null without a platform": [
    [sending((send, message) => send(message).then(() => null)), "what was sent to a platform has ids"],
    [sending((send, message) => send({ ...message, attachments: [] })), "the file has to be sent"],
  ],
  "splits what is longer than the platform's limit, and loses nothing": [
    [sending((send, message) => send({ ...message, text: message.text.slice(0, 30) })), "the words of the parts"],
    [
      (right, { platform }) => ({
        ...right,
        async send(message) {
          platform.messages.push({
            id: "m0",
            conversation: "owner",
            text: message.text,
            files: [],
            reactions: [],
          });
          return { primary: "m0", overflow: [] };
        },
      }),
      "is longer than",
    ],
  ],
  "stores with `keep` what is sent after each part, and sends the rest alone the next time": [
    [sending((send, message) => send(message)), "how many messages are out"],
    [
      sending(async (send, message, keep) => {
        const result = await send(message);
        if (result) await keep?.(result);
        return result;
      }),
      "how many messages are out",
    ],
    [
      sending((send, message, keep) =>
        send(message, (sent) => (keep?.(sent) ?? Promise.resolve()).catch(() => undefined)),
      ),
      "how many messages are out",
    ],
    [
      // As where a platform recognises a part that comes again, and the channel lists it twice.
      sending(async (send, message, keep) => {
        const result = await send(message, keep);
        return result && message.sent ? { ...result, overflow: [result.primary, ...result.overflow] } : result;
      }),
      "an id of its own",
    ],
    [sending((send, { sent: _, ...message }, keep) => send(message, keep)), "the part that was sent before"],
  ],
  "sends a file without a text": [
    [sending((send, message) => send({ ...message, text: message.text || "a file" }).then(() => null)), "has ids"],
    [
      sending(async (send, message) => {
        if (message.text === "") await send({ ...message, text: "a file", attachments: [] });
        return send(message);
      }),
      "the files of the messages that there are",
    ],
  ],
  "adds, reuses and removes messages of a text that is edited": [
    [editing((edit) => (conversation, id, text) => edit(conversation, id, text)), "further messages are used again"],
    [
      editing((edit) => (conversation, id, text, more) => edit(conversation, id, text.length > 5 ? text : "w9;", more)),
      "the words behind an edit",
    ],
    [
      editing((edit, { platform }) => async (conversation, id, text, more) => {
        const before = [...platform.messages];
        const result = await edit(conversation, id, text, more);
        platform.messages.push(...before.filter((message) => !platform.messages.includes(message)));
        return result;
      }),
      "the messages that there are behind an edit",
    ],
  ],
  "says with `keep` when an edit adds messages, before the first one and after each": [
    [
      editing((edit) => (conversation, id, text, more, signal) => edit(conversation, id, text, more, signal)),
      "what `keep` was given",
    ],
    [
      editing((edit) => async (conversation, id, text, more, signal, keep) => {
        const result = await edit(conversation, id, text, more, signal, keep);
        if (result) await keep?.(result);
        return result;
      }),
      "what `keep` was given",
    ],
    [
      editing((edit) => async (conversation, id, text, more = [], signal, keep) => {
        if (more.length > 0) await keep?.({ primary: id, overflow: more }, true);
        return edit(conversation, id, text, more, signal, keep);
      }),
      "for messages that are added",
    ],
  ],
  "changes what it has shown of a reply into the reply, and deletes what is left over": [
    [(right) => ({ ...right, draftPauseMs: () => 0 }), "has to be positive"],
    [sending((send, { draft: _, ...message }) => send(message)), "a draft became"],
    [
      sending((send, { draft, ...message }) =>
        send(draft ? { ...message, draft: { ...draft, overflow: [] } } : message),
      ),
      "the messages that there are of it",
    ],
  ],
  "hands over what the owner writes, with what a reply needs": [
    [
      (right) => ({
        ...right,
        onMessage: (handler) => right.onMessage((message) => handler({ ...message, externalId: "1" })),
      }),
      "two externalIds",
    ],
    [
      (right) => ({
        ...right,
        onMessage: (handler) => right.onMessage((message) => handler({ ...message, owner: false })),
      }),
      "whether it is the owner's",
    ],
    [receiving(() => ({ receive: async () => undefined })), "has to call `connected`"],
  ],
  "puts a reaction on a message that it has handed over": [
    [
      (right) => ({
        ...right,
        onMessage: (handler) => right.onMessage(({ messageId: _, ...message }) => handler(message)),
      }),
      "has a messageId",
    ],
    [(right) => ({ ...right, react: async () => undefined }), "the reactions to messages of people"],
  ],
  "hands a message over again, with its externalId, where it could not be stored": [
    [
      (right) => ({
        ...right,
        onMessage: (handler) => right.onMessage((message) => handler(message).catch(() => accepted)),
      }),
      "has to come again",
    ],
    [
      (right) => {
        let count = 0;
        return {
          ...right,
          onMessage: (handler) => right.onMessage((message) => handler({ ...message, externalId: `${++count}` })),
        };
      },
      "the externalId of the message",
    ],
  ],
  "does not stand still where one person writes more than they may: that is said, and what others write is handed over":
    [
      [
        // As where everything that fails comes again.
        (right) => ({
          ...right,
          onMessage: (handler) =>
            right.onMessage((message) =>
              handler(message).catch((error: Error) => Promise.reject(new Error(error.message))),
            ),
        }),
        "the owner's command has to be handed over",
      ],
      [
        (right) => ({
          ...right,
          onMessage: (handler) => right.onMessage((message) => handler(message).catch(() => accepted)),
        }),
        "has to be told so",
      ],
    ],
  "hands over once what was taken, also where another receiver goes on": [
    [forgetful, "what was handed over, in order"],
  ],
  "resolves soon when the receiver's signal aborts": [
    [
      receiving(({ receive }) => ({
        receive: (reception) => receive({ ...reception, signal: new AbortController().signal }),
      })),
      "still receives 5 s behind its signal",
    ],
    [
      receiving(({ receive }) => ({
        async receive(reception) {
          await receive(reception);
          reception.signal.throwIfAborted();
        },
      })),
      "does not reject",
    ],
  ],
  "resolves soon when the signal aborts while a message is being stored, which then comes again": [
    [
      (right) => {
        let storing: Promise<unknown> = Promise.resolve();
        const { receiver } = right;
        return {
          ...right,
          onMessage: (handler) =>
            right.onMessage((message) => {
              const stored = handler(message);
              storing = stored;
              return stored;
            }),
          ...(receiver && {
            receiver: {
              ...receiver,
              async receive(reception) {
                await receiver.receive(reception);
                await storing;
              },
            },
          }),
        };
      },
      "still receives 5 s behind its signal",
    ],
    [
      // Takes what it has begun to hand over.
      (right) => ({
        ...right,
        onMessage: (handler) =>
          right.onMessage(async (message) => {
            handler(message).catch(() => undefined);
            return accepted;
          }),
      }),
      "has to come again",
    ],
  ],
  "routes a command to its handler, and says what that answers": [
    [(right) => ({ ...right, onCommand: () => right.onCommand(async () => ({ text: "" })) }), "has to be given"],
    [
      (right) => ({
        ...right,
        onCommand: (handler) => right.onCommand(async (command) => ({ ...(await handler(command)), text: "?" })),
      }),
      "the answer to a command has to be sent",
    ],
  ],
  "is silent to strangers, and hands over nothing of theirs": [
    [
      (right) => {
        right.onStranger?.(async () => ({ admitted: true }));
        return right;
      },
      "what was handed over",
    ],
    [
      (right) => {
        right.onStranger?.(async () => ({ admitted: false, code: "who are you?" }));
        return right;
      },
      "what strangers were sent",
    ],
  ],
  "shows a stranger the code that it is given, and hands over nothing of theirs": [
    [(right) => ({ ...right, onStranger() {} }), "has to be shown the code"],
    [
      (right) => ({
        ...right,
        onStranger: (handler) => right.onStranger?.(async (stranger) => handler({ ...stranger, mayAsk: false })),
      }),
      "alone with the bot",
    ],
  ],
  "hears strangers who are admitted, as other users than the owner": [
    [(right) => ({ ...right, onStranger() {} }), "who is admitted has to be heard"],
    [everybodyIsOwner, "whether it is the owner's"],
  ],
  "starts where the platform cannot be reached, and reports what could not be sent as CHANNEL_CONNECTION_LOST": [
    [failing(() => new Error("fetch failed")), "no code"],
    [failing(() => new ChannelError("CHANNEL_REFUSED", "Failed.")), "CHANNEL_REFUSED"],
    [leaking("CHANNEL_CONNECTION_LOST"), "must not hold the secret"],
  ],
  "reports what the platform refuses for good as CHANNEL_REFUSED": [
    [failing(() => new ChannelError("CHANNEL_CONNECTION_LOST", "Failed.")), "CHANNEL_CONNECTION_LOST"],
    [leaking("CHANNEL_REFUSED"), "must not hold the secret"],
  ],
  "ends receiving with a sentence for operators where the platform cannot be reached": [
    [
      receiving((_right, { secret }) => ({
        receive: async () => {
          throw new Error(`no answer of https://bot/${secret}`);
        },
      })),
      "must not hold the secret",
    ],
    [receiving(() => ({ receive: async () => undefined })), "it resolved"],
    [receiving(({ account }, { secret }) => ({ account: account + secret })), "the account must not hold the secret"],
  ],
};

const checks = channelConformance(receivingChat());

describe("a right channel with a receiver", () => {
  for (const check of checks) test(check.name, check.run);
});

describe("a right channel that each node receives for", () => {
  for (const check of channelConformance(pushedChat)) test(check.name, check.run);
});

describe("a broken channel is found by", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test.each(
    Object.entries(BROKEN).flatMap(([name, broken]) => broken.map(([change, words]) => [name, words, change] as const)),
  )("%s: %s", async (name, words, change) => {
    // What never comes is given up soon.
    vi.spyOn(Date, "now").mockImplementation(() => performance.now() * 200);
    const error: unknown = await channelConformance(receivingChat(change))
      .find((one) => one.name === name)
      ?.run()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(AssertionError);
    expect(String(error)).toContain(words);
  });

  test("each check", () => {
    expect(Object.keys(BROKEN)).toEqual(checks.map(({ name }) => name));
  });
});

test("checks of what a channel lacks say that they are skipped, and what is there all the same is found", async () => {
  const names = channelConformance({ ...receivingChat(), lacks: ["drafts", "edit"] });
  const skipped = names.filter(({ name }) => name.endsWith(" (skipped: no edit, no drafts)"));
  expect(skipped).toHaveLength(1);
  await skipped[0]?.run();
  await expect(names[0]?.run()).rejects.toThrow("whether it has edit");
});
