import { describe, expect, it } from "vitest";
import { renamedData } from "../../../../control/deploy/operations/nodes/node-of-stack.ts";
import { kubernetesPlan } from "../../../support/kubernetes/plans.ts";

describe("data of a node that gets another name", () => {
  it.each([
    ["cairn-two-home", "cairn-three-home"],
    ["cairn-two-workspace", "cairn-three-workspace"],
    ["home-cairn-two-0", "home-cairn-three-0"],
    ["workspace-cairn-two-1", "workspace-cairn-three-1"],
  ])("%s is called %s", (name, expected) => {
    expect(renamedData(name, kubernetesPlan(), "two", "three")).toBe(expected);
  });
});
