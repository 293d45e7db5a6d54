import type { FakeFault, FakeReply, FakeScript, FakeToolCall, RecordedRequest } from "./script.ts";

/**
 * The default script: a model that does what the user's message says, so that a test drives whole turns from outside.
 * A message without directives is echoed as `echo: <message>`. A directive is a line that begins with `@`:
 *
 *   @say TEXT            text of the reply
 *   @think TEXT          reasoning before it
 *   @call NAME {JSON}    asks for a tool; several in one step are asked for together
 *   @then                what follows is for the next request of the turn, after the results
 *   @recall WORD         says the lines of the prompt that hold the word, other than the newest message
 *   @hold GATE [N]       waits until the gate is released (before the response, or after N events)
 *   @pace MS             milliseconds between events
 *   @fail STATUS [S]     an error response, with Retry-After S
 *   @garbage             a page of HTML
 *   @hang [N]            silence (from the start, or after N events)
 *   @cut N, @end N       after N events the socket is destroyed, or the body ends
 *
 * Steps that run out of directives say `done: <results>`.
 */
export const directiveScript: FakeScript = (request) => {
  const steps = request.lastUser.split(/^@then\s*$/m);
  const lines = (steps[request.step] ?? "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith("@"));
  if (lines.length === 0) {
    return {
      text:
        request.step === 0 ? `echo: ${request.lastUser}` : `done: ${request.results.map((r) => r.text).join(" | ")}`,
    };
  }
  return lines.map((line) => parse(line, request)).reduce(merge, {});
};

function parse(line: string, request: RecordedRequest): FakeReply {
  const [, name = "", rest = ""] = /^@(\w+)\s*(.*)$/s.exec(line) ?? [];
  const words = rest.split(/\s+/).filter((word) => word !== "");
  const count = words[0] === undefined ? undefined : Number(words[0]);
  switch (name) {
    case "say":
      return { text: rest };
    case "think":
      return { reasoning: rest };
    case "call":
      return { toolCalls: [parseCall(rest)] };
    case "recall":
      return { text: recall(rest, request) };
    case "hold":
      return { hold: { gate: words[0] ?? "", ...(words[1] === undefined ? {} : { after: Number(words[1]) }) } };
    case "pace":
      return { paceMs: count ?? 0 };
    case "fail":
      return { fault: status(count ?? 500, words[1]) };
    case "garbage":
      return { fault: { kind: "garbage" } };
    case "hang":
      return { fault: { kind: "hang", ...(count === undefined ? {} : { after: count }) } };
    case "cut":
    case "end":
      return { fault: { kind: "cut", after: count ?? 1, how: name === "cut" ? "destroy" : "end" } };
    default:
      return { text: `unknown directive: ${line}` };
  }
}

function parseCall(rest: string): FakeToolCall {
  const [, name = "", json = ""] = /^(\S+)\s*(.*)$/s.exec(rest) ?? [];
  return { name, raw: json === "" ? "{}" : json };
}

function status(code: number, retryAfter: string | undefined): FakeFault {
  return {
    kind: "status",
    status: code,
    ...(retryAfter === undefined ? {} : { headers: { "retry-after": retryAfter } }),
  };
}

function recall(word: string, request: RecordedRequest): string {
  const lines = [request.system, ...request.texts]
    .filter((text) => text !== request.lastUser)
    .flatMap((text) => text.split("\n"))
    .map((line) => line.trim())
    .filter((line) => line.toLowerCase().includes(word.toLowerCase()) && !line.startsWith("@"));
  return lines.length === 0 ? "nothing recalled" : `recalled: ${[...new Set(lines)].join(" | ")}`;
}

function merge(before: FakeReply, next: FakeReply): FakeReply {
  const text = [before.text, next.text].filter((part) => part !== undefined).join("\n");
  const toolCalls = [...(before.toolCalls ?? []), ...(next.toolCalls ?? [])];
  return {
    ...before,
    ...next,
    ...(text === "" ? {} : { text }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}
