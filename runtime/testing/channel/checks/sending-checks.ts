import assert from "node:assert/strict";
import type { EditResult, KeepSent } from "../../../contracts/channel.ts";
import { type CheckDefinition, idsOf, platformOf, present, reply, words, wordsIn } from "../support.ts";

/** What becomes of replies: whole, once, and in messages that the platform takes. */

const FILE = { name: "a.txt", mediaType: "text/plain", data: Buffer.from("a").toString("base64") };
const NOT_STORED = new Error("not stored, by a check");

export const SENDING_CHECKS: readonly CheckDefinition[] = [
  {
    name: "gives back the ids of all that it has sent, with and without files, or null without a platform",
    needs: [],
    async run(open) {
      const { channel, platform } = open;
      await channel.start();
      const given = [
        await channel.send(reply(open, "hello")),
        await channel.send(reply(open, "a file", { attachments: [FILE] })),
      ];
      if (platform === undefined) return assert.deepEqual(given, [null, null], "ids where there is no platform");
      const shown = platform.shown();
      assert.deepEqual(
        given.flatMap(idsOf),
        shown.map(({ id }) => id),
        "the ids of what was sent, in order",
      );
      assert.equal(shown[0]?.text, "hello", "the text of the first message");
      assert(
        shown.some(({ files }) => files.includes(FILE.name)),
        "the file has to be sent with its name",
      );
    },
  },
  {
    name: "splits what is longer than the platform's limit, and loses nothing",
    needs: ["platform"],
    async run(open) {
      const { channel } = open;
      const { mostText, shown } = platformOf(open);
      await channel.start();
      const text = words(mostText * 2.5);
      const ids = idsOf(await channel.send(reply(open, text)));
      const texts = shown().map((message) => message.text);
      assert.deepEqual(
        ids,
        shown().map(({ id }) => id),
        "the ids of the parts, in order",
      );
      assert.deepEqual(wordsIn(texts), wordsIn([text]), "the words of the parts");
      // Two code units each, and moved by one.
      await channel.send(reply(open, `x${"😀".repeat(mostText)}`));
      for (const part of shown().map((message) => message.text)) {
        assert(part.length <= mostText, `a part of ${part.length} code units is longer than ${mostText}`);
        assert(part.trim() !== "", "a part has to hold something");
        assert(part.isWellFormed(), "a part must not end within a character");
      }
    },
  },
  {
    name: "stores with `keep` what is sent after each part, and sends the rest alone the next time",
    needs: ["platform"],
    async run(open) {
      const { channel } = open;
      const { mostText, shown } = platformOf(open);
      await channel.start();
      const message = reply(open, words(mostText * 2.5));
      const kept: EditResult[] = [];
      const out: number[] = [];
      const sending = channel.send(message, async (sent) => {
        out.push(shown().length);
        if (kept.length === 1) throw NOT_STORED;
        kept.push(sent);
      });
      const failure: unknown = await sending.then(
        () => undefined,
        (error: unknown) => error,
      );
      assert.deepEqual(out, [1, 2], "how many messages are out at each call of `keep`, until one rejects");
      assert(failure instanceof Error, "send has to reject with an error where `keep` does");
      const [sent] = kept;
      assert(sent, "`keep` has to be called after the first part");
      assert.deepEqual(
        idsOf(sent),
        shown()
          .slice(0, 1)
          .map(({ id }) => id),
        "what the first `keep` was given",
      );
      const before = shown().length;
      const ids = idsOf(await channel.send({ ...message, sent }, async () => undefined));
      const parts = shown();
      assert.equal(ids[0], sent.primary, "the id of the part that was sent before");
      assert.equal(new Set(ids).size, ids.length, "each part has an id of its own");
      // The part whose `keep` failed may be there twice: nobody knows that it is out.
      const after = parts.filter(({ id }, index) => index < 1 || index >= before || ids.includes(id));
      assert.deepEqual(
        wordsIn(after.map(({ text }) => text)),
        wordsIn([message.text]),
        "the words of the parts, of which what was sent is not sent again",
      );
    },
  },
  {
    name: "sends a file without a text",
    needs: ["platform"],
    async run(open) {
      const { channel } = open;
      await channel.start();
      const ids = idsOf(await channel.send(reply(open, "", { attachments: [FILE] })));
      const shown = platformOf(open).shown();
      assert.deepEqual(
        shown.map(({ files }) => files),
        [[FILE.name]],
        "the files of the messages that there are",
      );
      assert.deepEqual(
        ids,
        shown.map(({ id }) => id),
        "the ids of what was sent",
      );
    },
  },
  {
    name: "adds, reuses and removes messages of a text that is edited",
    needs: ["platform", "edit"],
    async run(open) {
      const { channel, conversation } = open;
      const { mostText, shown } = platformOf(open);
      const edit = present(channel.edit, "edit").bind(channel);
      await channel.start();
      const short = await channel.send(reply(open, "w0;"));
      let [primary = "", ...overflow] = idsOf(short);
      for (const text of [words(mostText * 1.5), words(mostText * 1.5, 7), "w1;"]) {
        const before = overflow.length;
        const ids = idsOf(await edit(conversation, primary, text, overflow));
        assert.equal(ids[0], primary, "the first message stays");
        assert.deepEqual(
          ids.slice(1, 1 + before),
          overflow.slice(0, ids.length - 1),
          "further messages are used again",
        );
        [primary = "", ...overflow] = ids;
        assert.deepEqual(
          shown().map(({ id }) => id),
          ids,
          "the messages that there are behind an edit",
        );
        assert.deepEqual(wordsIn(shown().map((message) => message.text)), wordsIn([text]), "the words behind an edit");
      }
    },
  },
  {
    name: "says with `keep` when an edit adds messages, before the first one and after each",
    needs: ["platform", "edit"],
    async run(open) {
      const { channel, conversation } = open;
      const { mostText, shown } = platformOf(open);
      const edit = present(channel.edit, "edit").bind(channel);
      await channel.start();
      const [primary = ""] = idsOf(await channel.send(reply(open, "w0;")));
      const kept: { readonly ids: readonly string[]; readonly more: boolean; readonly out: number }[] = [];
      const keep: KeepSent = async (sent, more = false) => {
        kept.push({ ids: idsOf(sent), more, out: shown().length });
      };
      const ids = idsOf(await edit(conversation, primary, words(mostText * 2.5), [], undefined, keep));
      assert.deepEqual(
        kept,
        ids.map((_, index) => ({ ids: ids.slice(0, index + 1), more: index < ids.length - 1, out: index + 1 })),
        "what `keep` was given, and how many messages were out",
      );
      kept.length = 0;
      await edit(conversation, primary, words(mostText * 1.5, 7), ids.slice(1), undefined, keep);
      assert.deepEqual(kept, [], "`keep` is for messages that are added");
    },
  },
  {
    name: "changes what it has shown of a reply into the reply, and deletes what is left over",
    needs: ["platform", "edit", "drafts"],
    async run(open) {
      const { channel, conversation } = open;
      const { mostText, shown } = platformOf(open);
      const pause = present(channel.draftPauseMs, "draftPauseMs").call(channel, conversation);
      assert(
        pause > 0 && Number.isFinite(pause),
        `the pause between two changes has to be positive, and it is ${pause}`,
      );
      await channel.start();
      const draft = await channel.send(reply(open, words(mostText * 1.5)));
      const [first] = idsOf(draft);
      const ids = idsOf(await channel.send(reply(open, "w1; w2;", draft === null ? {} : { draft })));
      assert.deepEqual(ids, [first], "the ids of a reply that a draft became");
      assert.deepEqual(
        shown().map(({ id }) => id),
        ids,
        "the messages that there are of it",
      );
      assert.deepEqual(wordsIn(shown().map(({ text }) => text)), ["w1;", "w2;"], "the words of the reply");
    },
  },
];
