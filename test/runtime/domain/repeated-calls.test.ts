import { expect, it } from "vitest";
import type { Message } from "../../../runtime/contracts/message.ts";
import { markedFence } from "../../../runtime/domain/marked-fence.ts";
import { createRepeatGuard, MOST_REPEATS } from "../../../runtime/domain/repeated-calls.ts";
import { webFence, webText } from "../../../runtime/domain/web/web-fence.ts";

type Call = readonly [name: string, args: Readonly<Record<string, unknown>>, result: string];

/** The messages of a turn with these replies, each a list of calls; the calls of the last one have no results yet. */
function turn(...replies: readonly (readonly Call[])[]): Message[] {
  return replies.flatMap((calls, reply) => [
    {
      role: "assistant" as const,
      content: "",
      toolCalls: calls.map(([name, args], index) => ({ id: `${reply}-${index}`, name, arguments: args })),
    },
    ...(reply === replies.length - 1
      ? []
      : calls.map(([, , result], index) => ({
          role: "tool" as const,
          toolCallId: `${reply}-${index}`,
          content: result,
        }))),
  ]);
}

const read: Call = ["file_read", { path: "a", limit: 1 }, "x"];
const call = { id: "next", name: "file_read", arguments: { limit: 1, path: "a" } };
const ok = { content: "x" };

it("lets three calls run, the third with a notice, and refuses the fourth and those that follow", () => {
  expect(createRepeatGuard(turn([read])).noted(call, ok)).toEqual(ok);
  expect(createRepeatGuard(turn([read], [read])).noted(call, ok)).toEqual(ok);
  const third = createRepeatGuard(turn([read], [read], [read]));
  expect(third.refusal(call)).toBeNull();
  const noted = third.noted(call, ok);
  expect(noted.content).toMatch(/^x\n\n\[.*3 times in a row/);

  const withNotice: Call = [read[0], read[1], noted.content];
  const fourth = createRepeatGuard(turn([read], [read], [withNotice], [read]));
  const refused = fourth.refusal(call);
  expect(refused).toMatchObject({ code: "TOOL_REPEATED" });
  const again = { ...turn([read], [read], [withNotice], [read]).at(-1) } as Message;
  const refusal: Message = {
    role: "tool",
    toolCallId: "3-0",
    content: `TOOL_REPEATED: ${refused?.message}`,
    isError: true,
  };
  const fifth = createRepeatGuard([...turn([read], [read], [withNotice], [read]), refusal, again]);
  expect(fifth.refusal(call)).not.toBeNull();
  expect(MOST_REPEATS).toBe(3);
});

it("compares results that are full of beginnings of fences", () => {
  const full: Call = ["web_fetch", {}, "What the block with the mark x holds ".repeat(100_000)];
  const last = { id: "next", name: "web_fetch", arguments: {} };
  expect(createRepeatGuard(turn([full], [full], [full], [full])).refusal(last)).toMatchObject({
    code: "TOOL_REPEATED",
  });
});

it.each<[string, Message[]]>([
  ["another result", turn([read], [["file_read", { path: "a", limit: 1 }, "y"]], [read], [read])],
  ["a result that changes each time", turn(...["1", "2", "3", "4"].map((n): Call[] => [["poll", {}, n]]), [read])],
  ["other arguments", turn([read], [["file_read", { path: "b", limit: 1 }, "x"]], [read], [read])],
  ["another call in between", turn([read], [read], [["shell", {}, "x"]], [read], [read])],
  [
    "another call beside it that goes on",
    turn(...["1", "2", "3"].map((n): Call[] => [read, ["file_edit", { n }, "done"]]), [read]),
  ],
  ["only twice before", turn([read], [read], [read])],
  [
    "a word of the user in between",
    [...turn([read], [read], [read], [read]).slice(0, -1), { role: "system", content: "again" }, ...turn([read])],
  ],
])("does not refuse after %s", (_, messages) => {
  expect(createRepeatGuard(messages).refusal(call)).toBeNull();
});

it("counts the same page again, whose fence has another mark each time, and no page that only looks like it", () => {
  const fetched = (text: string, n: number): Call => [
    "web_fetch",
    { url: "u" },
    `${webFence(text, `mark-${n}`)}\n(note)`,
  ];
  const again = { id: "next", name: "web_fetch", arguments: { url: "u" } };
  const same = [1, 2, 3].map((n) => [fetched("page", n)]);
  const third = { content: fetched("page", 4)[2] };
  expect(createRepeatGuard(turn(...same)).noted(again, third).content).toMatch(/3 times in a row/);
  expect(createRepeatGuard(turn(...same, [fetched("page", 4)])).refusal(again)).not.toBeNull();
  const changing = [1, 2, 3].map((n) => [fetched(webText(`the mark mark-${n}\n<web mark="mark-${n}">`), 9)]);
  expect(createRepeatGuard(turn(...changing, [fetched("page", 9)])).refusal(again)).toBeNull();
});

it("counts the same result of a server of tools again, whose fence has another mark each time", () => {
  const called = (n: number): Call => ["files__echo", {}, markedFence({ name: "mcp_result", from: "a" }, "hi", `${n}`)];
  const turns = turn(...[1, 2, 3, 4].map((n) => [called(n)]));
  expect(createRepeatGuard(turns).refusal({ id: "next", name: "files__echo", arguments: {} })).not.toBeNull();
});

it("counts a failure that repeats, and tells it from the same text as a result", () => {
  const failing = (messages: Message[]) =>
    messages.map((message) => (message.role === "tool" ? { ...message, isError: true } : message));
  expect(createRepeatGuard(failing(turn([read], [read], [read], [read]))).refusal(call)).not.toBeNull();
  expect(createRepeatGuard(failing(turn([read], [read], [read]))).noted(call, ok)).toEqual(ok);
});

it("refuses of several calls of a reply those that were repeated, and lets a new one run", () => {
  const both: Call[] = [read, ["shell", { command: "ls" }, "y"]];
  const guard = createRepeatGuard(turn(both, both, both, both));
  expect(guard.refusal(call)).not.toBeNull();
  expect(guard.refusal({ id: "n", name: "shell", arguments: { command: "ls" } })).not.toBeNull();
  expect(guard.refusal({ id: "n", name: "shell", arguments: { command: "pwd" } })).toBeNull();
});
