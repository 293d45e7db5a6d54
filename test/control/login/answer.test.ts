import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseAnswer } from "../../../control/login/answer.ts";
import { browserCommand } from "../../../control/login/browser.ts";

describe("a pasted answer", () => {
  it.each([
    "http://127.0.0.1:4711/callback?code=c%2B1&state=s",
    "  http://127.0.0.1:4711/callback?state=s&code=c%2B1#  ",
    "code=c%2B1&state=s",
    "?state=s&code=c%2B1",
    "c+1#s",
  ])("%s is understood", (text) => {
    const answer = parseAnswer(text);
    expect([answer.get("code"), answer.get("state")]).toEqual(["c+1", "s"]);
  });

  it.each(["", "only-a-code", "#state", "code#", "a#b#c", "http://127.0.0.1:1/callback", "http://x/?code=c", "a b#c"])(
    "%j is not",
    (text) => {
      expect(() => parseAnswer(text)).toThrow("not the answer of a login");
    },
  );

  it("is what was sent, whatever the code and the state are", () => {
    const word = fc.string({ minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(word, word, (code, state) => {
        const address = new URL("http://127.0.0.1:1/callback");
        address.searchParams.set("code", code);
        address.searchParams.set("state", state);
        const answer = parseAnswer(address.href);
        return answer.get("code") === code.toWellFormed() && answer.get("state") === state.toWellFormed();
      }),
    );
  });
});

describe("the browser", () => {
  it.each([
    ["linux", { DISPLAY: ":0" }, ["xdg-open"]],
    ["linux", { WAYLAND_DISPLAY: "w" }, ["xdg-open"]],
    ["linux", {}, null],
    ["linux", { BROWSER: "my-browser" }, ["my-browser"]],
    ["darwin", {}, ["open"]],
  ] as const)("on %s with %j is %j", (platform, env, wanted) => {
    expect(browserCommand(platform, env)).toEqual(wanted);
  });
});
