import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ExportedState,
  pendingOf,
  readStored,
  resolvePending,
  resourcesOf,
  toStored,
  unprotect,
  unreadImages,
} from "../../../../control/deploy/engine/checkpoint.ts";

const TYPE = "docker:index/container:Container";
const urnOf = (name: string) => `urn:pulumi:lab::cairn::${TYPE}::${name}`;
const resource = (name: string, more: object = {}) => ({
  urn: urnOf(name),
  type: TYPE,
  custom: true,
  inputs: { name },
  ...more,
});
const stateOf = (names: readonly string[], pending: readonly [string, string][] = []): ExportedState =>
  ({
    version: 3,
    deployment: {
      manifest: { time: "t" },
      resources: names.map((name) => resource(name, { id: `id-${name}` })),
      pending_operations: pending.map(([type, name]) => ({ type, resource: resource(name) })),
    },
  }) as ExportedState;

const name = fc.stringMatching(/^[a-z]{1,6}$/);

describe("a stack's state", () => {
  it("is the same in the engine's own file and as it exports it", () => {
    fc.assert(
      fc.property(fc.uniqueArray(name), (names) => {
        const state = stateOf(names);
        expect(readStored(toStored(state, "organization/cairn/lab"))).toEqual(state);
      }),
    );
  });

  it.each(["", "{", '{"version":3}', "[]"])("that is %j is refused", (text) => {
    expect(() => readStored(text)).toThrow();
  });

  it("has each interrupted creation exactly once afterwards, if it exists", () => {
    fc.assert(
      fc.property(fc.uniqueArray(name), fc.uniqueArray(name), fc.func(fc.boolean()), (existing, creating, exists) => {
        const state = stateOf(
          existing,
          creating.map((one) => ["creating", one]),
        );
        const found = new Map(creating.filter(exists).map((one) => [urnOf(one), `found-${one}`]));
        const resolved = resolvePending(state, found);
        expect(pendingOf(resolved)).toEqual([]);
        const ids = resourcesOf(resolved).map(({ id, name: own }) => [own, id]);
        const expected = [
          ...existing.filter((one) => !found.has(urnOf(one))).map((one) => [one, `id-${one}`]),
          ...creating.filter((one) => found.has(urnOf(one))).map((one) => [one, `found-${one}`]),
        ];
        expect(ids).toEqual(expected);
      }),
    );
  });

  it("keeps a resource as it was whose update or deletion was cut off", () => {
    const resolved = resolvePending(
      stateOf(
        ["a", "b"],
        [
          ["updating", "a"],
          ["deleting", "b"],
        ],
      ),
      new Map([[urnOf("a"), "other"]]),
    );
    expect(resourcesOf(resolved).map(({ id }) => id)).toEqual(["id-a", "id-b"]);
  });

  it("puts a replacement that was cut off before what depends on it: the engine refuses it otherwise", () => {
    const state = stateOf(["z"], [["creating", "a"]]);
    const dependent = resource("b", { id: "id-b", dependencies: [urnOf("a")], provider: `${urnOf("z")}::p` });
    const given = {
      ...state,
      deployment: { ...state.deployment, resources: [dependent, ...(state.deployment.resources ?? [])] },
    };
    const resolved = resolvePending(given as ExportedState, new Map([[urnOf("a"), "found-a"]]));
    expect(resourcesOf(resolved).map(({ name: own }) => own)).toEqual(["z", "a", "b"]);
  });

  it("finds images that were never read", () => {
    const image = (id: string, outputs?: object) => ({
      urn: id,
      type: "docker:index/remoteImage:RemoteImage",
      outputs,
    });
    const resources = [
      image("none"),
      image("empty", { imageId: "" }),
      image("whole", { imageId: "sha256:1" }),
      resource("a"),
    ];
    const state = { version: 3, deployment: { resources } } as ExportedState;
    expect([...unreadImages(state)]).toEqual(["none", "empty"]);
  });

  it("keeps what it does not know", () => {
    const unusual = { ...stateOf(["a"]), extra: 1 } as ExportedState;
    expect(resolvePending(unusual, new Map())).toMatchObject({ extra: 1, deployment: { manifest: { time: "t" } } });
  });

  it("loses the protection of what is named, and of nothing else", () => {
    const state = stateOf(["a", "b"]);
    for (const one of state.deployment.resources ?? []) one.protect = true;
    const open = unprotect(state, new Set([urnOf("a")]));
    expect(resourcesOf(open).map((one) => [one.name, one.protected])).toEqual([
      ["a", false],
      ["b", true],
    ]);
  });
});
