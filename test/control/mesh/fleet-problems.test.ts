import { describe, expect, it } from "vitest";
import { type FleetMember, problemsOf, problemsOfOwn } from "../../../control/mesh/fleet-problems.ts";
import { RuntimeError } from "../../../runtime/contracts/errors.ts";

const node = (name: string, said: Partial<FleetMember> = {}): FleetMember => ({
  id: name,
  name,
  version: "0.2.0",
  schema: 22,
  address: `https://${name}:7433`,
  certificate_sha256: "AB",
  next_certificate_sha256: null,
  agents: [],
  hosts: [],
  shares_database: true,
  heard_at: "2026-01-01T00:00:00.000Z",
  status: "online",
  self: false,
  ping: { ms: 1, clock_ahead_s: 0, error: null },
  ...said,
});
const box = node("box", { self: true, ping: null });
const failed = (code: ConstructorParameters<typeof RuntimeError>[0]) => ({
  ms: null,
  clock_ahead_s: null,
  error: new RuntimeError(code, `It is ${code}.`, { hint: "Look." }).toBody(),
});
const found = (members: FleetMember[], meshEnabled = true) =>
  problemsOf([box, ...members], meshEnabled).map(({ node: name, problem }) => `${name} ${problem}`);

describe("a fleet", () => {
  it("of nodes that live, answer and agree has no problem; nor has one that was stopped", () => {
    expect(found([node("attic"), node("cellar", { status: "draining" })])).toEqual([]);
    expect(
      found([node("attic", { status: "stopped", ping: failed("RUNTIME_NOT_RUNNING"), version: "0.1.0" })]),
    ).toEqual([]);
  });

  it.each<[string, Partial<FleetMember>]>([
    ["offline", { status: "offline", ping: failed("RUNTIME_NOT_RUNNING"), version: "0.1.0" }],
    ["address", { address: null, ping: failed("RUNTIME_PEER_UNREACHABLE") }],
    ["certificate", { ping: failed("RUNTIME_CERTIFICATE_REFUSED") }],
    ["clock", { ping: failed("RUNTIME_CLOCK_SKEW") }],
    ["clock", { ping: { ms: 1, clock_ahead_s: -60, error: null } }],
    ["unreachable", { ping: failed("RUNTIME_NOT_READY") }],
    ["unreachable", { ping: failed("RUNTIME_PEER_UNREACHABLE") }],
    ["version", { version: "0.1.0" }],
  ])("has one whose problem is %s", (problem, said) => {
    expect(found([node("attic", said)])).toEqual([`attic ${problem}`]);
  });

  it("has two nodes that live under one name; one that was set up anew, and its former self, are no such two", () => {
    const second = { id: "second", name: "attic", address: "https://10.0.0.9:7433" };
    expect(found([node("attic"), node("attic", second)])).toEqual(["attic name", "attic name"]);
    expect(problemsOf([box, node("attic"), node("attic", second)], true)[1]?.message).toContain("10.0.0.9");
    expect(found([node("attic"), node("attic", { ...second, status: "stopped" })])).toEqual([]);
  });

  it("has what the node says of itself, with the way back where its key is no member's any more", () => {
    const own = (standing: string, problem: string | null) =>
      problemsOfOwn(box, { standing, problem }).map(({ message, hint }) => `${message} ${hint}`);
    expect(own("member", null)).toEqual([]);
    expect(own("alone", "It could not join.")).toEqual(["It could not join. `cairn logs --level warn` has more."]);
    expect(own("revoked", "It was revoked.")).toEqual([expect.stringContaining("`cairn mesh leave`")]);
  });

  it("names the worst first, each with what to do", () => {
    const members = [node("a", { version: "0.1.0" }), node("b", { ping: failed("RUNTIME_NOT_READY") })];
    const problems = problemsOf([box, node("c", { status: "offline", ping: null }), ...members], true);
    expect(problems.map(({ node: name }) => name)).toEqual(["c", "b", "a"]);
    for (const { hint } of problems) expect(hint).toMatch(/[.]$/);
  });

  it("that lost its database and still answers is told apart from one that has ended", () => {
    const message = (said: Partial<FleetMember>) =>
      problemsOf([box, node("attic", { status: "offline", ...said })], true)[0]?.message;
    expect(message({})).toContain("answers, but");
    expect(message({ ping: failed("RUNTIME_NOT_RUNNING") })).toContain("without saying so");
    expect(message({ shares_database: false, ping: failed("RUNTIME_NOT_RUNNING") })).toContain("not been heard");
  });

  it("without a mesh does without addresses", () => {
    expect(found([node("attic", { address: null, ping: failed("RUNTIME_PEER_UNREACHABLE") })], false)).toEqual([]);
    expect(found([node("attic", { ping: failed("RUNTIME_NOT_READY") })], false)).toEqual(["attic unreachable"]);
  });
});
