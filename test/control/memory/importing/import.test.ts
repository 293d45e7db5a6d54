import { describe, expect, it } from "vitest";
import { importExport, type Service } from "../../../../control/memory/importing/import.ts";
import { UsageError } from "../../../../control/output/failure.ts";

/** What a node gets, and what is said of it. */
async function imported(service: Service, ...chunks: (string | Uint8Array)[]) {
  const lines: Record<string, unknown>[] = [];
  async function* bytes() {
    for (const chunk of chunks) yield Buffer.from(chunk);
  }
  const passed = await importExport(service, bytes(), async (parts) => {
    let text = "";
    for await (const part of parts) text += Buffer.from(part).toString();
    lines.push(...text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)])));
    return {};
  });
  return { lines, ...passed };
}

function node(id: string, parent: string | null, message: object | null) {
  return { id, parent, children: [], message: message && { id, recipient: "all", metadata: {}, ...message } };
}

function said(role: string, content: object | string, more: object = {}) {
  const words = typeof content === "string" ? { content_type: "text", parts: [content] } : content;
  return { author: { role, name: null }, create_time: 1736209412.25, content: words, ...more };
}

function chatgpt(nodes: readonly ReturnType<typeof node>[], more: object = {}) {
  const mapping = Object.fromEntries(nodes.map((one) => [one.id, one]));
  return {
    title: "Harbours",
    create_time: 1736209400,
    conversation_id: "c-1",
    mapping,
    current_node: nodes.at(-1)?.id,
    ...more,
  };
}

function claude(chat_messages: readonly object[], more: object = {}) {
  return { uuid: "k-1", name: "Tides", created_at: "2025-03-01T10:00:00Z", chat_messages, ...more };
}

describe("the import of a ChatGPT export", () => {
  it("takes what was said on the branch that is shown, in its order", async () => {
    const tree = [
      node("root", null, null),
      node(
        "hidden",
        "root",
        said("system", "You are helpful.", { metadata: { is_visually_hidden_from_conversation: true } }),
      ),
      node("question", "hidden", said("user", "When does it open?", { create_time: 1736209412.25 })),
      node("first", "question", said("assistant", "At seven.")),
      node("call", "question", said("assistant", "search()", { recipient: "web" })),
      node("page", "call", said("tool", "a page")),
      node("answer", "page", said("assistant", "At six.", { create_time: null })),
    ];
    const { lines, ignored } = await imported("chatgpt", JSON.stringify([chatgpt(tree)]));
    const shared = { session_key: "chatgpt:c-1", agent: "chatgpt", channel: "chatgpt", title: "Harbours" };
    const at = { created_at: "2025-01-07T00:23:32.250Z" };
    expect(lines).toEqual([
      { ...shared, ...at, role: "user", content: "When does it open?", event_id: "chatgpt:question" },
      { ...shared, ...at, role: "assistant", content: "At six.", event_id: "chatgpt:answer" },
    ]);
    expect(ignored).toBe(4);
  });

  it("reads texts beside images, recordings and code, and no thoughts", async () => {
    const parts = [
      { content_type: "image_asset_pointer" },
      { content_type: "audio_transcription", text: "spoken" },
      "written",
      7,
    ];
    const tree = [
      node("a", null, said("user", { content_type: "multimodal_text", parts })),
      node("b", "a", said("assistant", { content_type: "thoughts", thoughts: [] })),
      node("c", "b", said("assistant", { content_type: "code", language: "sh", text: "ls" })),
      node("d", "c", said("assistant", { content_type: "text", parts: [" "] })),
    ];
    const { lines, ignored } = await imported("chatgpt", JSON.stringify([chatgpt(tree)]));
    expect(lines.map(({ content }) => content)).toEqual(["[image]\n\nspoken\n\nwritten", "ls"]);
    expect(ignored).toBe(2);
  });

  it("ends with a tree whose parents go round, and one that names no last message", async () => {
    const round = chatgpt([node("a", "b", said("user", "one")), node("b", "a", said("user", "two"))]);
    const lost = chatgpt([node("x", null, said("user", "three"))], {
      current_node: "gone",
      conversation_id: null,
      id: "c-2",
    });
    const { lines } = await imported("chatgpt", JSON.stringify([round, lost]));
    expect(lines.map(({ content }) => content)).toEqual(["one", "two", "three"]);
    expect(lines.at(-1)?.session_key).toBe("chatgpt:c-2");
  });

  it("reads several files one after the other, cut anywhere, with a title that a heading can hold", async () => {
    const one = JSON.stringify([
      chatgpt([node("a", null, said("user", "smörgås 🦭"))], { title: "one\n[line]\u0007 " }),
    ]);
    const text = Buffer.from(`${one}\n[]${one.replaceAll('"a"', '"b"')}`);
    for (const size of [1, 7, 4096]) {
      const cut = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
        text.subarray(at * size, (at + 1) * size),
      );
      const { lines } = await imported("chatgpt", ...cut);
      expect(lines.map(({ content, title, event_id }) => [content, title, event_id])).toEqual([
        ["smörgås 🦭", "one [line]", "chatgpt:a"],
        ["smörgås 🦭", "one [line]", "chatgpt:b"],
      ]);
    }
  });
});

describe("the import of a Claude export", () => {
  it("takes the words of both, and the texts that were attached", async () => {
    const messages = [
      {
        uuid: "m-1",
        sender: "human",
        text: "When is high water?",
        content: [{ type: "text", text: "When is high water?" }],
        created_at: "2025-03-01T10:00:01.5Z",
        attachments: [
          { file_name: "tides.txt", extracted_content: "06:12 high" },
          { file_name: "empty.txt", extracted_content: "" },
        ],
      },
      {
        uuid: "m-2",
        sender: "assistant",
        text: "At 06:12. This block is not supported.",
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "At 06:12." },
          { type: "tool_use", name: "x" },
        ],
        created_at: "never",
      },
      { uuid: "m-3", sender: "human", text: "", content: [] },
    ];
    const { lines, ignored } = await imported("claude", JSON.stringify([claude(messages)]));
    const shared = { session_key: "claude:k-1", agent: "claude", channel: "claude", title: "Tides" };
    expect(lines).toEqual([
      {
        ...shared,
        role: "user",
        content: "When is high water?\n\nAttachment tides.txt:\n06:12 high",
        created_at: "2025-03-01T10:00:01.500Z",
        event_id: "claude:m-1",
      },
      { ...shared, role: "assistant", content: "At 06:12.", event_id: "claude:m-2" },
    ]);
    expect(ignored).toBe(1);
  });
});

it("counts a conversation that is not written as the others are, and takes those behind it", async () => {
  const first = chatgpt([node("a", null, said("user", "one"))]);
  const last = chatgpt([node("b", null, said("user", "two"))]);
  const { lines, unreadable } = await imported("chatgpt", JSON.stringify([first, { title: "of another time" }, last]));
  expect(lines.map(({ content }) => content)).toEqual(["one", "two"]);
  expect(unreadable).toBe(1);
});

describe("a file that is no export", () => {
  const conversation = JSON.stringify(chatgpt([node("a", null, said("user", "hello"))]));

  it.each([
    ["an empty one", "", "holds no conversation"],
    ["an empty list", "[]", "holds no conversation"],
    ["a zip file", "PK\u0003\u0004...", "is a zip file"],
    ["no JSON", "hello", "is no JSON"],
    ["one that is cut off", `[${conversation.slice(0, 40)}`, "is no JSON, or ends too early"],
    ["one that is cut off between conversations", `[${conversation},`, "is no JSON, or ends too early"],
    ["one conversation alone", conversation, "is no list of conversations"],
    ["a list of other things", "[{}]", "The file has no conversations of ChatGPT"],
    ["a conversation without messages", '[{"mapping":[]}]', "The file has no conversations of ChatGPT"],
  ])("is refused: %s", async (_, text, words) => {
    const failure = await imported("chatgpt", text).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UsageError);
    expect(String(failure)).toContain(words);
  });

  it("is named as the other service's where it is", async () => {
    const failure = await imported("claude", `[${conversation}]`).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      message: "The file has no conversations of Claude.",
      hint: expect.stringContaining("--from chatgpt"),
    });
  });
});
