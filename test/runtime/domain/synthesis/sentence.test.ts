import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SYSTEM_PROMPT } from "../../../../runtime/domain/synthesis/prompt.ts";
import { checkSentence } from "../../../../runtime/domain/synthesis/sentence.ts";
import { isPastTense } from "../../../../runtime/domain/synthesis/verbs.ts";

const SOURCE = `Tool: shell {"command":"npm test -- src/app.test.ts"} Time: 2026-03-04T05:06Z
/srv/app node-3 v1.2.3 a1b2c3d PR #482 build_all config.yaml 14213 lines`;

function check(answer: string, given: Partial<Parameters<typeof checkSentence>[0]> = {}) {
  return checkSentence({
    answer,
    truncated: false,
    instructions: SYSTEM_PROMPT,
    source: SOURCE,
    redact: (text) => text.replaceAll("hunter2", "[redacted]"),
    ...given,
  });
}

describe("checkSentence", () => {
  it.each([
    "Ran `npm test` in /srv/app, and all 120 tests passed in 4.2s.",
    "The agent read config.yaml and found that 3 of 14213 lines had changed.",
    "Searched the web for flights from Graz to Oslo.",
    "main deployed v1.2.3 to node-3, which failed because the disk was full.",
    "The shell tool was called with build_all and printed nothing.",
    "Merged PR #482 at a1b2c3d on 2026-03-04.",
    "Wrote a 3-line file, e.g. for notes, and/or kept the old one!",
    "Asked 'What is the capital of France?' and got no answer.",
    "Delegated the review to Dr. Ada Byron and waited.",
    "The tool calls made no change.",
  ])("takes %j as it is", (answer) => {
    expect(check(answer)).toEqual({ accepted: true, sentence: answer });
  });

  it("takes off what models put around a sentence, and gives it its full stop", () => {
    expect(check('  "Ran the tests in /srv/app"\n')).toEqual({
      accepted: true,
      sentence: "Ran the tests in /srv/app.",
    });
  });

  it.each([
    ["", "empty"],
    ["   \n ", "empty"],
    ["Ran tests. They passed.", "exactly one sentence"],
    ["Did it run the tests?", "exactly one sentence"],
    ["Ran the tests and then ...", "exactly one sentence"],
    ["Ran the tests.\nRead the log.", "more than one line"],
    ["Ran it.", "shorter"],
    [`Ran ${"very ".repeat(90)}long tests.`, "longer"],
    [`Ran ${"x".repeat(800)} with tests.`, "longer"],
    ["The agent runs the test suite.", "past tense"],
    ["Run the test suite in the directory.", "past tense"],
    ["I will run the tests now.", "past tense"],
    ["The agent is going to read the file that was named.", "past tense"],
    ["A new file in the directory.", "past tense"],
    ["The command needed in the repository", undefined],
    ["Sure, here is the sentence: Ran the tests.", "words about the answer"],
    ["Here is what happened: ran the tests.", "words about the answer"],
    ["I'm sorry, I could not see what was called.", "declines"],
    ["**Ran** the tests and read the log.", "Markdown"],
    ["- Ran the tests and read the log.", "Markdown"],
    ["Ran `npm test` and read ```x```.", "Markdown"],
    ["Ran the tests in $O(n^2)$ steps.", "LaTeX"],
    ["Logged in with the password hunter2 at once.", "secret"],
    ["Exactly one sentence in English, in the past tense, was written.", "instructions"],
    ["Read the file src/main/other.py and stopped.", "src/main/other.py"],
    ["Ran the tests on node-4 and they passed.", "node-4"],
    ["Merged PR #483 into the main branch.", "#483"],
    ["Counted 14214 lines in the file.", "14214"],
  ])("refuses %j", (answer, reason) => {
    const verdict = check(answer);
    if (reason === undefined) return expect(verdict.accepted).toBe(true);
    expect(verdict).toEqual({ accepted: false, reason: expect.stringContaining(reason) });
  });

  it("refuses what was cut short", () => {
    expect(check("Ran the tests in /srv/app.", { truncated: true }).accepted).toBe(false);
  });

  it("takes only one line of bounded length, whatever a model says", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.lorem({ mode: "sentences" })), (answer) => {
        const verdict = check(answer);
        if (!verdict.accepted) return;
        expect(verdict.sentence).not.toMatch(/[\r\n]/);
        expect(verdict.sentence.length).toBeLessThanOrEqual(700);
        expect(verdict.sentence.trim()).not.toBe("");
      }),
    );
  });
});

describe("isPastTense", () => {
  it.each([
    ["Fetched the page.", true],
    ["The agent, which runs on node-3, stored it.", true],
    ["Used `git will` to undo it.", true],
    ["Checked whether the file is there.", true],
    ["Calls the API with the given name.", false],
    ["To list files, the shell was used.", true],
    ["An embed feed indeed.", false],
  ])("of %j is %s", (sentence, past) => expect(isPastTense(sentence)).toBe(past));
});
