import { describe, expect, it } from "vitest";
import { UsedTokens } from "../../../../runtime/domain/mesh/used-tokens.ts";

describe("tokens of peers that were used", () => {
  const token = (id: string, usableUntil = 100) => ({ id, usableUntil });

  it("are known until their age refuses them", () => {
    const used = new UsedTokens();
    expect(used.use("a", token("1"), 0)).toBe("new");
    expect(used.use("a", token("1"), 100)).toBe("used");
    expect(used.use("b", token("1"), 100)).toBe("new");
    // Its age refuses it from now on.
    expect(used.use("a", token("2", 200), 101)).toBe("new");
    expect(used.use("a", token("2", 200), 200)).toBe("used");
  });

  it("let no further one in where they cannot be remembered, until there is room again", () => {
    const used = new UsedTokens({ ofOne: 2, ofAll: 3 });
    expect([used.use("a", token("1"), 0), used.use("a", token("2"), 0)]).toEqual(["new", "new"]);
    expect(used.use("a", token("3"), 0)).toBe("full");
    expect(used.use("a", token("1"), 0)).toBe("used");
    // One node does not keep out another, but all together have a limit, too.
    expect(used.use("b", token("1", 50), 0)).toBe("new");
    expect(used.use("c", token("1"), 0)).toBe("full");
    expect(used.use("c", token("1"), 51)).toBe("new");
    expect(used.use("a", token("3", 300), 101)).toBe("new");
  });
});
