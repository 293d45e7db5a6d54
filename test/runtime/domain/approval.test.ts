import { expect, it } from "vitest";
import { approvalRequest, approvalText, LONGEST_CALL } from "../../../runtime/domain/approval.ts";
import { visibleText } from "../../../runtime/domain/visible-text.ts";

const same = (text: string): string => text;
const subject = (args: Record<string, unknown>, more: object = {}) => ({
  agent: "main",
  workspace: "/w",
  call: { name: "shell", arguments: args },
  reason: "a reason",
  ...more,
});
const shown = (args: Record<string, unknown>) => approvalRequest(subject(args), same)?.call;

it.each([
  ["ls \u202E/ fr- mr", "ls ‹U+202E›/ fr- mr"],
  ["ls\r\nrm", "ls‹U+000D›\nrm"],
  ["a\u200Bb\u00ADc\u2066d\uFEFF", "a‹U+200B›b‹U+00AD›c‹U+2066›d‹U+FEFF›"],
  ["a\u001B[2Kb\u0000", "a‹U+001B›[2Kb‹U+0000›"],
  ["a\u00A0b\u3000c\u2800d\u3164e", "a‹U+00A0›b‹U+3000›c‹U+2800›d‹U+3164›e"],
  ["a\u{E0041}\u{F0000}", "a‹U+E0041›‹U+F0000›"],
  ["\ud800 x", "‹U+D800› x"],
  [`echo${" ".repeat(900)}; rm -rf ~`, "echo‹900 spaces›; rm -rf ~"],
  [`ls${"\n".repeat(300)}rm -rf ~`, "ls\n‹299 blank lines›\nrm -rf ~"],
  ["a\n\n\tb  c\n", "a\n\n\tb  c\n"],
  ["größe — ok", "größe — ok"],
])("hides nothing of %j", (text, visible) => {
  expect(visibleText(text)).toBe(visible);
});

it("shows every argument under its name, and no line of one as another argument", () => {
  expect(shown({ command: "ls -l", cwd: "sub" })).toBe("command: ls -l\ncwd: sub");
  expect(shown({ command: "ls\ncwd: sub", n: [1, { b: 2, a: null }] })).toBe(
    'command:\n| ls\n| cwd: sub\nn: [1,{"a":null,"b":2}]',
  );
  expect(shown({})).toBe("(no arguments)");
  expect(shown({ "a\nb": "x" })).toBe("a‹U+000A›b: x");
});

it("takes secrets out of what is shown, and not out of what is approved", () => {
  const redact = (text: string) => text.replaceAll("s3cret-value", "[redacted]");
  const one = approvalRequest(subject({ command: "login s3cret-value" }), redact);
  expect(one?.call).toBe("command: login [redacted]");
  expect(approvalRequest(subject({ command: "login [redacted]" }), redact)?.digest).not.toBe(one?.digest);
});

it("ends the block of code nowhere but at its end", () => {
  const request = approvalRequest(subject({ command: "echo '```' ; rm -rf x\n````\nfine" }), same);
  const text = approvalText("main", request ?? expect.fail("too long"));
  expect(text.match(/`{3,}/g)).toEqual(["```", "```"]);
  expect(text).toContain("echo '‹U+0060›‹U+0060›‹U+0060›' ; rm -rf x");
});

it("is not asked for what is too long to be shown whole", () => {
  expect(approvalRequest(subject({ command: "x".repeat(LONGEST_CALL) }), same)).toBeNull();
});

it("is bound to agent, workspace, tool, arguments and reason, whatever the order of the arguments", () => {
  const digest = (args: Record<string, unknown>, more: object = {}) =>
    approvalRequest(subject(args, more), same)?.digest;
  const base = digest({ a: 1, b: "x" });
  expect(digest({ b: "x", a: 1 })).toBe(base);
  const others = [
    digest({ a: 1, b: "x " }),
    digest({ a: "1", b: "x" }),
    digest({ a: 1, b: "x" }, { agent: "other" }),
    digest({ a: 1, b: "x" }, { workspace: "/v" }),
    digest({ a: 1, b: "x" }, { reason: "another" }),
    digest({ a: 1, b: "x" }, { call: { name: "file_write", arguments: { a: 1, b: "x" } } }),
  ];
  expect(new Set([base, ...others]).size).toBe(7);
});
