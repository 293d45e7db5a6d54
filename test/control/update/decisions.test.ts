import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sourceTreeOf } from "../../../control/service/source-tree.ts";
import { type JournalEntry, STEPS } from "../../../control/update/journal.ts";
import { unitOf } from "../../../control/update/restart.ts";
import { exitCodeOfUpdate } from "../../../control/update/result.ts";
import { decideResumption } from "../../../control/update/resume.ts";
import { planTree, type TreeFacts } from "../../../control/update/tree-plan.ts";
import { chooseRelease, releasesOf } from "../../../control/update/versions.ts";
import { isOlder } from "../../../runtime/contracts/versions.ts";

describe("the release that is chosen", () => {
  const tags = ["v1.2.0", "v1.10.0", "1.9.0", "v2.0.0-rc.2", "v2.0.0-rc.10", "nightly", "v1", "lts-1.2"];

  it.each([
    [undefined, "main", "v1.10.0"],
    [undefined, null, "v1.10.0"],
    [undefined, "lts/1.2", "v1.2.0"],
    ["1.9.0", "main", "1.9.0"],
    ["v1.9.0", "main", "1.9.0"],
    ["2.0.0-rc.10", "main", "v2.0.0-rc.10"],
  ])("for %j on %j is %s", (asked, branch, tag) => {
    expect(chooseRelease({ tags, asked, branch }).tag).toBe(tag);
  });

  it.each([
    ["3.0.0", "main", "There is no release 3.0.0"],
    ["newest", "main", "There is no release newest"],
    [undefined, "lts/0.9", "the line 0.9"],
  ])("for %j on %j is refused", (asked, branch, words) => {
    expect(() => chooseRelease({ tags, asked, branch })).toThrow(words);
  });

  it("is none in a clone without releases, and says how to go on", () => {
    expect(() => chooseRelease({ tags: [], asked: undefined, branch: "main" })).toThrow(
      expect.objectContaining({
        message: "The repository has no release yet.",
        hint: expect.stringContaining("`git pull && npm start`"),
      }),
    );
  });

  it("is the newest whatever the order of the tags, and never a pre-release", () => {
    const number = fc.nat({ max: 30 });
    const version = fc.tuple(number, number, number, fc.boolean()).map(([a, b, c, pre]) => ({
      tag: `v${a}.${b}.${c}${pre ? "-rc.1" : ""}`,
      rank: [a, b, c] as const,
      pre,
    }));
    fc.assert(
      fc.property(fc.array(version, { minLength: 1 }), (all) => {
        const finished = all.filter(({ pre }) => !pre);
        fc.pre(finished.length > 0);
        const chosen = chooseRelease({ tags: all.map(({ tag }) => tag), asked: undefined, branch: "main" });
        const best = finished.toSorted(
          (x, y) => y.rank[0] - x.rank[0] || y.rank[1] - x.rank[1] || y.rank[2] - x.rank[2],
        );
        return chosen.tag === best[0]?.tag;
      }),
    );
  });

  it("orders pre-releases by number", () => {
    expect(
      releasesOf(tags)
        .map(({ version }) => version)
        .slice(0, 2),
    ).toEqual(["2.0.0-rc.10", "2.0.0-rc.2"]);
    expect([isOlder("1.0.0", "1.0.1"), isOlder("1.0.1", "1.0.1"), isOlder("1.0.0", "unknown")]).toEqual([
      true,
      false,
      false,
    ]);
  });
});

describe("the plan for a source tree", () => {
  const facts: TreeFacts = {
    head: "a".repeat(40),
    branch: "main",
    headTags: [],
    changed: [],
    inTheWay: [],
    target: { version: "1.1.0", tag: "v1.1.0", commit: "b".repeat(40) },
    headIsBeforeTarget: true,
    targetIsBeforeHead: false,
    headIsPublished: true,
  };

  it.each<[string, Partial<TreeFacts>, string]>([
    ["goes forward on a branch", {}, "fast-forward"],
    ["does nothing at the release", { head: facts.target.commit }, "none"],
    ["goes from release to release", { branch: null, headTags: ["v1.0.0"] }, "checkout"],
    ["goes back from a published branch", { headIsBeforeTarget: false, targetIsBeforeHead: true }, "checkout"],
    [
      "keeps commits that nobody else has",
      { headIsBeforeTarget: false, targetIsBeforeHead: true, headIsPublished: false },
      "refuse",
    ],
    ["keeps a branch that went another way", { headIsBeforeTarget: false }, "refuse"],
    ["keeps a commit that has no name", { branch: null }, "refuse"],
    ["keeps changed files", { changed: ["a.ts"] }, "refuse"],
    ["keeps changed files, also at the release", { changed: ["a.ts"], head: facts.target.commit }, "refuse"],
    ["keeps files that are in the way", { inTheWay: ["b.ts"] }, "refuse"],
  ])("%s", (_name, change, kind) => {
    expect(planTree({ ...facts, ...change }).kind).toBe(kind);
  });

  it("names the files, not all of a hundred, and a way out", () => {
    const changed = Array.from({ length: 100 }, (_, index) => `file-${index}.ts`);
    const plan = planTree({ ...facts, changed });
    expect(plan).toMatchObject({
      message: expect.stringContaining("file-9.ts and 90 more"),
      hint: expect.stringContaining("git stash"),
    });
  });
});

describe("an update that was cut off", () => {
  const at = "2030-01-31T00:00:00.000Z";
  const entry: JournalEntry = {
    schema: 1,
    root: "/tree",
    source: "git",
    from: { version: "1.0.0", commit: "a" },
    to: { version: "1.1.0", commit: "b", tag: "v1.1.0" },
    stage: "/tree/.cache/builds/1.1.0-b",
    former: "/tree",
    keeper: { kind: "own" },
    move: "fast-forward",
    restart: true,
    started_at: at,
    steps: [],
  };
  const having = (
    ...steps: readonly (readonly [JournalEntry["steps"][number]["name"], "begun" | "done" | "failed"])[]
  ) => ({
    ...entry,
    steps: steps.map(([name, state]) => ({ name, state, at })),
  });

  it.each([
    ["while it built", having(["build", "begun"]), "former", "a", "anew"],
    ["before its rename", having(["switch", "begun"]), "former", "a", "anew"],
    ["between its renames", having(["switch", "begun"]), "none", "a", "anew"],
    ["after its rename", having(["switch", "begun"]), "new", "a", "forward"],
    ["while it restarted", having(["switch", "done"], ["restart", "begun"]), "new", "a", "forward"],
    ["after a restart that failed", having(["restart", "failed"]), "new", "a", "back"],
    ["at the gate", having(["gate", "begun"]), "new", "a", "forward"],
    ["after a gate that failed", having(["gate", "failed"]), "new", "a", "back"],
    ["while it went back", having(["gate", "failed"], ["back", "begun"]), "new", "a", "back"],
    ["after it went back", having(["gate", "failed"], ["back", "done"]), "former", "a", "back"],
    ["while it moved the tree", having(["gate", "done"], ["tree", "begun"]), "new", "b", "forward"],
    ["and whose tree went elsewhere", having(["gate", "begun"]), "new", "c", "operator"],
    ["and whose program is another one", having(["gate", "begun"]), "other", "a", "operator"],
  ] as const)("%s goes on", (_name, journal, serving, head, kind) => {
    expect(decideResumption(journal, { serving, head }).kind).toBe(kind);
  });

  it("is decided for every journal, and never goes forward once it goes back", () => {
    const step = fc.record({
      name: fc.constantFrom(...STEPS),
      state: fc.constantFrom("begun", "done", "failed"),
      at: fc.constant(at),
    });
    const serving = fc.constantFrom("former", "new", "none", "other");
    fc.assert(
      fc.property(fc.array(step), serving, fc.constantFrom("a", "b", "c"), (steps, where, head) => {
        const { kind } = decideResumption({ ...entry, steps }, { serving: where, head });
        const goesBack = steps.some(({ name }) => name === "back");
        return !(goesBack && (kind === "forward" || kind === "anew"));
      }),
    );
  });
});

describe("the service manager's unit of a process", () => {
  it.each([
    ["0::/system.slice/cairn.service\n", { unit: "cairn.service", scope: "system" }],
    [
      "0::/user.slice/user-1000.slice/user@1000.service/app.slice/cairn-two.service\n",
      { unit: "cairn-two.service", scope: "user" },
    ],
    ["0::/user.slice/user-1000.slice/session-3.scope\n", null],
    [
      "12:pids:/system.slice/cairn.service\n1:name=systemd:/system.slice/cairn.service\n",
      { unit: "cairn.service", scope: "system" },
    ],
    ["", null],
  ])("of %j is %j", (text, unit) => {
    expect(unitOf(text)).toEqual(unit);
  });
});

describe("where things are", () => {
  it.each([
    ["/srv/cairn", "/srv/cairn"],
    ["/srv/cairn/.cache/builds/1.1.0-abc", "/srv/cairn"],
    ["/srv/builds/cairn", "/srv/builds/cairn"],
  ])("the tree of %s is %s", (root, tree) => {
    expect(sourceTreeOf(root)).toBe(tree);
  });

  it("exit codes are told apart", () => {
    const result = {
      schema: 1,
      target: "manual",
      from: "1",
      to: "2",
      restarted: true,
      reason: null,
      next: null,
    } as const;
    const codes = (["updated", "unchanged", "pending", "rolled_back", "operator"] as const).map((outcome) =>
      exitCodeOfUpdate({ ...result, outcome }),
    );
    expect(codes).toEqual([0, 0, 0, 1, 4]);
  });
});
