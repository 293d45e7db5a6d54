import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hookedEvents, type WantedHook, withHooks, withoutHooks } from "../../../control/capture/hooks-file.ts";

const OURS = "'/home/ada/.cairn/capture/hook'";
const isOurs = (command: string) => command.startsWith(`${OURS} `);
const hooks: WantedHook[] = ["SessionStart", "Stop"].map((event) => ({
  event,
  command: `${OURS} claude-code`,
  timeout: 10,
}));
const ours = { hooks: [{ type: "command", command: `${OURS} claude-code`, timeout: 10 }] };

const SETTINGS = `{
\t// my settings
\t"model": "opus", // keep this
\t"permissions": { "allow": ["Bash(git *)"] },
\t"hooks": {
\t\t"Stop": [
\t\t\t/* a chime */
\t\t\t{ "matcher": "*", "hooks": [{ "type": "command", "command": "afplay ding.aiff" }] }
\t\t],
\t\t"PreToolUse": [{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "check.sh" }] }]
\t},
\t"somethingNew": { "deep": [1, 2,] }
}
`;

describe("hooks in a settings file", () => {
  test("are added beside what is there; comments, order and unknown keys stay", () => {
    const text = withHooks(SETTINGS, hooks, isOurs);
    for (const kept of [
      "// my settings",
      "// keep this",
      "/* a chime */",
      '"somethingNew": { "deep": [1, 2,] }',
      "check.sh",
    ]) {
      expect(text).toContain(kept);
    }
    expect(hookedEvents(text, isOurs).sort()).toEqual(["SessionStart", "Stop"]);
    expect(text.split("\n").filter((line) => /^ +/.test(line))).toEqual([]);
  });

  test("make the file where there is none", () => {
    for (const text of ["", "{}", "{ }\n", '{\n  "hooks": {}\n}']) {
      expect(JSON.parse(withHooks(text, hooks, isOurs))).toEqual({ hooks: { SessionStart: [ours], Stop: [ours] } });
    }
  });

  test.each([
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]},"hooks":{}}',
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}],"Stop":[]}}',
  ])("are not added where a key stands twice, so that nothing is replaced unseen: %s", (text) => {
    expect(() => withHooks(text, hooks, isOurs)).toThrow("twice");
    expect(() => withoutHooks(text, isOurs)).toThrow("twice");
  });

  test("are added once, and an older form of ours is replaced", () => {
    const once = withHooks(SETTINGS, hooks, isOurs);
    expect(withHooks(once, hooks, isOurs)).toBe(once);
    const old = hooks.map((hook) => ({ ...hook, command: `${OURS} claude-code --old` }));
    const again = withHooks(
      withHooks("{}", [...old, { ...hooks[0], event: "Gone" } as WantedHook], isOurs),
      hooks,
      isOurs,
    );
    expect(JSON.parse(again)).toEqual({ hooks: { SessionStart: [ours], Stop: [ours] } });
  });

  test("are taken out, and the rest stays as it was, to the letter", () => {
    // Nothing but the layout of what stood in one line.
    const laidOut = SETTINGS.replace(/(\t"hooks": )\{[\s\S]*?\n\t\}/, (_all, head: string) => {
      const kept = { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command: "check.sh" }] }] };
      return head + JSON.stringify(kept, null, "\t").replaceAll("\n", "\n\t");
    });
    for (const text of [laidOut, '{\n  "model": "opus" // mine\n}\n']) {
      expect(withoutHooks(withHooks(text, hooks, isOurs), isOurs)).toBe(text);
    }
    const back = withoutHooks(withHooks(SETTINGS, hooks, isOurs), isOurs);
    expect(back.replaceAll(/\s/g, "")).toBe(SETTINGS.replaceAll(/\s/g, ""));
    expect(JSON.parse(withoutHooks(withHooks("{}", hooks, isOurs), isOurs))).toEqual({});
    expect(withoutHooks(SETTINGS, isOurs)).toBe(SETTINGS);
    expect(withoutHooks('{"hooks":{}}', isOurs)).toBe('{"hooks":{}}');
  });

  test("are taken out of a group that somebody else's hooks were put into", () => {
    const mixed = {
      hooks: { Stop: [{ hooks: [...ours.hooks, { type: "command", command: "mine" }, ...ours.hooks] }] },
    };
    expect(JSON.parse(withoutHooks(JSON.stringify(mixed), isOurs))).toEqual({
      hooks: { Stop: [{ hooks: [{ type: "command", command: "mine" }] }] },
    });
  });

  test.each(["{", "[]", '"text"', '{"hooks": []}', '{"hooks": {"Stop": {}}}', "null"])(
    "refuse %s and change nothing",
    (text) => {
      expect(() => withHooks(text, hooks, isOurs)).toThrow(/cannot be read/);
    },
  );

  test("in and out again is nothing, for any settings (200 files)", () => {
    const command = fc.record({ type: fc.constant("command"), command: fc.string() }, { requiredKeys: ["type"] });
    const group = fc.record(
      { matcher: fc.string(), hooks: fc.array(command, { maxLength: 3 }) },
      { requiredKeys: ["hooks"] },
    );
    const settings = fc.record(
      {
        model: fc.string(),
        hooks: fc.dictionary(
          fc.constantFrom("Stop", "SessionStart", "PreToolUse"),
          fc.array(group, { minLength: 1, maxLength: 3 }),
          { minKeys: 1 },
        ),
        other: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(settings, (value) => {
        const text = JSON.stringify(value, null, 2);
        const installed = withHooks(text, hooks, isOurs);
        expect(hookedEvents(installed, isOurs).sort()).toEqual(["SessionStart", "Stop"]);
        expect(JSON.parse(withoutHooks(installed, isOurs))).toEqual(JSON.parse(text));
      }),
      { numRuns: 200 },
    );
  });
});
