import type { EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation/index.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffBuilder, lookUp } from "../../../../control/deploy/engine/diff.ts";
import { noteOf } from "../../../../control/deploy/engine/notes.ts";
import { redactable, redactor, redactText } from "../../../../control/deploy/engine/redact.ts";

const TYPE = "docker:index/container:Container";
const URN = `urn:pulumi:lab::cairn::cairn:index:Stack$${TYPE}::lab-one`;

const side = (inputs: Record<string, unknown>, outputs = inputs) => ({
  type: TYPE,
  urn: URN,
  custom: true,
  id: "1",
  parent: "",
  provider: "",
  inputs,
  outputs,
});
const step = (op: string, parts: Partial<StepEventMetadata>): EngineEvent =>
  ({
    sequence: 0,
    timestamp: 0,
    resourcePreEvent: { metadata: { op, urn: URN, type: TYPE, provider: "", ...parts } },
  }) as EngineEvent;
const build = (events: readonly EngineEvent[], secrets: readonly string[] = []) => {
  const builder = diffBuilder(redactor(secrets));
  for (const event of events) builder.add(event);
  return builder.build("lab", "docker");
};

describe("the diff", () => {
  it("takes places and kinds from the provider's own comparison", () => {
    const { changes } = build([
      step("update", {
        old: side({ name: "lab-one", ports: [{ external: 1 }], gone: 5 }),
        new: side({ name: "lab-one", ports: [{ external: 2 }], fresh: "x" }),
        detailedDiff: {
          "ports[0].external": { diffKind: "update-replace" as never, inputDiff: true },
          fresh: { diffKind: "add" as never, inputDiff: true },
          gone: { diffKind: "delete" as never, inputDiff: true },
        },
      }),
    ]);
    expect(changes).toMatchObject([{ op: "update", name: "lab-one", type: TYPE }]);
    expect(changes[0]?.properties).toEqual([
      { path: "ports[0].external", kind: "update", before: 1, after: 2 },
      { path: "fresh", kind: "add", before: null, after: "x" },
      { path: "gone", kind: "delete", before: 5, after: null },
    ]);
  });

  it("compares itself where the provider did not", () => {
    const { changes } = build([
      step("update", {
        old: side({ a: { b: 1, c: 2 }, d: [1] }),
        new: side({ a: { b: 3, c: 2 }, d: [1] }),
        diffs: ["a"],
      }),
    ]);
    expect(changes[0]?.properties).toEqual([{ path: "a.b", kind: "update", before: 1, after: 3 }]);
  });

  it("makes one replacement of its three steps, whatever their order", () => {
    const parts = { old: side({ image: "a" }), new: side({ image: "b" }), diffs: ["image"] };
    const steps = [
      step("create-replacement", parts),
      step("replace", parts),
      step("delete-replaced", { old: side({ image: "a" }) }),
    ];
    fc.assert(
      fc.property(fc.shuffledSubarray(steps, { minLength: 3 }), (events) => {
        const { changes, summary } = build(events);
        expect(summary).toMatchObject({ replace: 1, create: 0, delete: 0 });
        expect(changes[0]?.properties).toEqual([{ path: "image", kind: "update", before: "a", after: "b" }]);
      }),
    );
  });

  it("leaves out the engine's bookkeeping and counts what stays", () => {
    const stack = {
      op: "create",
      urn: "urn:pulumi:lab::cairn::pulumi:pulumi:Stack::cairn-lab",
      type: "pulumi:pulumi:Stack",
    };
    const { changes, summary } = build([
      step("create", { ...(stack as object), new: { ...side({}), custom: false } }),
      step("same", { old: side({}), new: side({}) }),
    ]);
    expect(changes).toEqual([]);
    expect(summary.same).toBe(1);
  });

  it("shows a provider that is to be another one: without it `destroy` would go the old way", () => {
    const provider = {
      type: "pulumi:providers:kubernetes",
      urn: "urn:pulumi:lab::cairn::cairn:index:Stack$pulumi:providers:kubernetes::lab-cluster",
    };
    const moved = {
      ...provider,
      old: side({ kubeconfig: "/old/config" }),
      new: side({ kubeconfig: "/new/config" }),
      diffs: ["kubeconfig"],
    };
    const { changes, summary } = build([step("update", moved)]);
    expect(summary.update).toBe(1);
    expect(changes).toMatchObject([
      {
        name: "lab-cluster",
        properties: [{ path: "kubeconfig", kind: "update", before: "/old/config", after: "/new/config" }],
      },
    ]);
    expect(noteOf(step("update", moved), (text) => text)).toMatchObject({ op: "update", name: "lab-cluster" });
    for (const op of ["create", "same", "delete"]) {
      expect(build([step(op, moved)]).changes).toEqual([]);
      expect(noteOf(step(op, moved), (text) => text)).toBeNull();
    }
  });

  it("shows no secret: neither one that the engine marks, nor one that we know, nor one that its name tells", () => {
    const secret = fc
      .string({ minLength: 8, maxLength: 40 })
      .filter((text) => text.trim().length >= 8 && !"[redacted]".includes(text));
    fc.assert(
      fc.property(secret, fc.string(), (value, around) => {
        const { changes } = build(
          [
            step("update", {
              old: side({
                envs: [`${around}${value}`],
                nested: { deep: [value] },
                marked: "[secret]",
                password: "abc",
              }),
              new: side({ envs: [], nested: { deep: [] }, marked: "other", password: "def" }),
            }),
          ],
          [value],
        );
        const values = changes.flatMap(({ properties }) => properties.flatMap(({ before, after }) => [before, after]));
        expect(JSON.stringify(values)).not.toContain(JSON.stringify(value).slice(1, -1));
        const shown = Object.fromEntries(changes[0]?.properties.map(({ path, before }) => [path, before]) ?? []);
        expect(shown).toMatchObject({ marked: "[redacted]", password: "[redacted]" });
      }),
    );
  });

  it("finds values by the engine's paths", () => {
    expect(lookUp({ a: [{ "b.c": { d: 1 } }] }, 'a[0]["b.c"].d')).toBe(1);
    expect(lookUp({ a: 1 }, "a.b.c")).toBeUndefined();
  });
});

describe("a note", () => {
  const said = (severity: string, message: string): EngineEvent =>
    ({ sequence: 0, timestamp: 0, diagnosticEvent: { severity, message, color: "never" } }) as EngineEvent;

  it("is never made of a debug message, which spells out whole resources", () => {
    expect(noteOf(said("debug", "RegisterResource RPC finished: topsecret"), (text) => text)).toBeNull();
    expect(noteOf(said("warning", "<{%reset%}>disk is slow<{%reset%}>"), (text) => text)).toMatchObject({
      severity: "warning",
      message: "disk is slow",
    });
  });

  it("is not made of a provider's warning that something is not healthy, for which it gives no reason", () => {
    expect(noteOf(said("warning", "Refreshed resource is in an unhealthy state:\n"), (text) => text)).toBeNull();
  });

  it("never tells how the protection of data is taken away", () => {
    const advice =
      "Preview failed: resource x cannot be deleted\nbecause it is protected. Use `pulumi state unprotect`";
    expect(noteOf(said("error", advice), (text) => text)).toBeNull();
  });

  it("stays readable beside a secret of one letter, and shows no rest of a secret that begins as another", () => {
    const redactables = redactable(["e", "", "hunter2", "hunter2-and-more"]);
    expect(redactText("the engine saw hunter2-and-more", redactables)).toBe("the engine saw [redacted]");
  });

  it("is redacted", () => {
    expect(noteOf(said("error", "login with hunter2 failed"), (text) => text.replace("hunter2", "***"))).toMatchObject({
      message: "login with *** failed",
    });
  });
});
