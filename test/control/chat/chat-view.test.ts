import { describe, expect, it } from "vitest";
import { createChatView } from "../../../control/chat/chat-view.ts";
import type { Mark } from "../../../control/output/terminal.ts";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";
import type { StreamEvent, TurnResult } from "../../../runtime/contracts/stream.ts";

const same = (text: string): string => text;
const PLAIN: Mark = {
  title: same,
  good: same,
  warn: same,
  error: same,
  name: same,
  dim: (text) => (text === "" ? "" : `<${text}>`),
};
const turn_id = "t";
const session = "s";

describe("a turn on the terminal", () => {
  it("is its text, ended with a newline", () => {
    expect(show(started(), delta("Hello"), delta(" you"), finished({ text: "Hello you" }))).toBe("Hello you\n");
  });

  it("shows what was not streamed: all, or the rest", () => {
    expect(show(finished({ text: "Hello" }))).toBe("Hello\n");
    expect(show(started(), delta("Hel"), finished({ text: "Hello" }))).toBe("Hello\n");
  });

  it("does not repeat a reply that came after other text", () => {
    const events = [started(), delta("Let me look.\n"), delta("It is 7."), finished({ text: "It is 7." })];
    expect(show(...events)).toBe("Let me look.\nIt is 7.\n");
  });

  it("shows the whole reply when another one was streamed", () => {
    expect(show(started(), delta("Half a"), finished({ text: "Something else" }))).toBe("Half a\nSomething else\n");
  });

  it("shows what the agent asks, and goes on without a word of an interruption", () => {
    const question = { id: "q", text: "Which one?", choices: ["red", "blue"], expires_at: "2026-12-01T00:00:00.000Z" };
    const asked: StreamEvent = { type: "turn.waiting", turn_id, session, question };
    const events = [
      started(),
      delta("Hm."),
      asked,
      started(2),
      delta("Hm."),
      delta(" Red."),
      finished({ text: "Hm. Red." }),
    ];
    expect(show(...events)).toBe("Hm.\n? Which one? (red / blue)\n<Answer with /answer TEXT, or /stop.>\nHm. Red.\n");
  });

  it("shows how far a call is, and what is said on the way", () => {
    const events: StreamEvent[] = [
      started(),
      { type: "tool.progress", turn_id, tool_call_id: "c", text: "half\nway" },
      { type: "turn.message", turn_id, text: "A word." },
    ];
    expect(show(...events)).toBe("<· half way>\nA word.\n");
  });

  it("shows a file that was sent, and where it is fetched", () => {
    const attachment = { sha256: "ab12", name: "a\u001b[2J.pdf", media_type: "application/pdf", size: 12 };
    const events: StreamEvent[] = [
      delta("Here:"),
      { type: "turn.attachment", turn_id, attachment },
      { type: "turn.attachment", turn_id, attachment: { ...attachment, name: "b.pdf", caption: "The second." } },
    ];
    expect(show(...events)).toMatch(
      new RegExp(
        `^Here:\n.*a[^\u001b]*\\.pdf \\(application/pdf, 12 bytes\\)\n<turns/${turn_id}/attachments/ab12>\nThe second\\.\nb\\.pdf .*\n<.*>\n$`,
      ),
    );
  });

  it("puts tools on lines of their own, cut to one line", () => {
    const call = { turn_id, tool_call_id: "c", name: "shell" };
    const text = show(
      delta("I look"),
      { type: "tool.started", ...call, arguments: { command: "ls" } },
      { type: "tool.finished", ...call, ok: false, result: `no\nsuch ${"x".repeat(200)}` },
    );
    expect(text).toMatch(/^I look\n<· shell \{"command":"ls"\}>\n✗ <shell: no such x+…>\n$/);
  });

  it("shows the notice of an interruption", () => {
    const text = show(delta("Half"), finished({ text: "Half", interrupted: true, notice: "You stopped it." }));
    expect(text).toBe("Half\n! You stopped it.\n");
  });

  it("says that a turn goes on after an interruption, and begins the reply again", () => {
    const text = show(started(), delta("Half"), started(2), delta("Whole"), finished({ text: "Whole" }));
    expect(text).toBe("Half\n<(the turn was interrupted and goes on)>\nWhole\n");
  });

  it("sets reasoning apart", () => {
    const thought: StreamEvent = { type: "reasoning.delta", turn_id, text: "Hm." };
    expect(show(thought, delta("Yes."), finished({ text: "Yes." }))).toBe("<Hm.>\nYes.\n");
  });

  it("lets nobody steer the terminal", () => {
    expect(show(delta("a\u001b[2Jb\r\nc"), finished({ text: "a\u001b[2Jb\r\nc" }))).toBe("a\\u001b[2Jb\nc\n");
    expect(show(finished({ text: "x", interrupted: true, notice: "\u001b]0;title\u0007" }))).not.toContain("\u001b");
  });

  it("breaks no word at the width of the terminal: of replies, reasoning, notices and errors", () => {
    const view = createChatView(PLAIN, { columns: () => 30 });
    const events: StreamEvent[] = [
      started(),
      { type: "reasoning.delta", turn_id, text: "The user wants to know whe" },
      { type: "reasoning.delta", turn_id, text: "re the recipe is" },
      delta("Grandmother keeps her rec"),
      delta("ipe for miso"),
      finished({
        text: "Grandmother keeps her recipe for miso in the drawer.",
        notice: "The answer was cut: it is too long.",
      }),
    ];
    expect(
      events
        .map((event) => view.show(event))
        .join("")
        .replaceAll(/[<>]/g, ""),
    ).toBe(
      "The user wants to know where\nthe recipe is\nGrandmother keeps her recipe\nfor miso in the drawer.\n! The answer was cut: it is\ntoo long.\n",
    );
    expect(view.showError(new RuntimeError("RUNTIME_INTERNAL", "The node has lost its way in the dark."))).toContain(
      "Error: The node has lost its\nway in the dark.",
    );
  });

  it("shows an error on a line of its own", () => {
    const error = new RuntimeError("RUNTIME_TURN_TIMEOUT", "It took too long.").toBody();
    const text = show(delta("Half"), { type: "turn.failed", turn_id, session, error });
    expect(text).toBe("Half\nError: It took too long.\n<Code: RUNTIME_TURN_TIMEOUT>\n");
  });
});

function show(...events: readonly StreamEvent[]): string {
  const view = createChatView(PLAIN);
  return events.map((event) => view.show(event)).join("");
}

function started(attempt = 1): StreamEvent {
  return { type: "turn.started", turn_id, session, agent: "main", attempt };
}

function delta(text: string): StreamEvent {
  return { type: "text.delta", turn_id, text };
}

function finished(rest: Pick<TurnResult, "text"> & Partial<TurnResult>): StreamEvent {
  const usage = { inputTokens: 1, outputTokens: 1 };
  return { type: "turn.finished", turn_id, session, usage, interrupted: false, ...rest };
}
