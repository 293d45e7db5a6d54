import { expect, it } from "vitest";
import { isSameTree } from "../../scripts/lib/dependencies.js";

const LOCKED = {
  "": { version: "0.1.0" },
  "node_modules/a": { version: "1.0.0" },
  "node_modules/a-darwin": { version: "1.0.0", optional: true },
};

it.each([
  ["all of them", { "node_modules/a": { version: "1.0.0" } }, true],
  ["another version", { "node_modules/a": { version: "1.0.1" } }, false],
  ["one too few", {}, false],
  ["one too many", { "node_modules/a": { version: "1.0.0" }, "node_modules/b": { version: "1.0.0" } }, false],
  [
    "an optional one of another version",
    { "node_modules/a": { version: "1.0.0" }, "node_modules/a-darwin": { version: "2.0.0" } },
    false,
  ],
])("sees %s in node_modules", (_name, present, same) => {
  expect(isSameTree(LOCKED, present)).toBe(same);
});
