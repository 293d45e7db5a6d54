/** What a target that went away may have made: remembered, settled by the next run, and no more than that. */

import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TargetDriver } from "../../../../control/deploy/driver.ts";
import type { ExportedState } from "../../../../control/deploy/engine/checkpoint.ts";
import type { EngineNote } from "../../../../control/deploy/engine/notes.ts";
import { infraFiles } from "../../../../control/deploy/files.ts";
import {
  gatherUnanswered,
  keepUnanswered,
  readUnanswered,
  removeUnanswered,
} from "../../../../control/deploy/operations/unanswered.ts";

const CONTAINER = "docker:index/container:Container";
const NETWORK = "docker:index/network:Network";
const VOLUME = "docker:index/volume:Volume";
const urnOf = (type: string, name: string) => `urn:pulumi:lab::cairn::${type}::${name}`;
const begun = (type: string, name: string, op = "create"): EngineNote => {
  return { kind: "resource", op, state: "started", type, name, urn: urnOf(type, name) };
};
const failed = (type: string, name: string, message: string): EngineNote => {
  return { kind: "message", severity: "error", message, urn: urnOf(type, name) };
};
const files = async () => {
  const made = infraFiles(await mkdtemp(join(tmpdir(), "cairn-unanswered-")), "lab");
  await mkdir(made.project);
  return made;
};

describe("what a target did not answer", () => {
  it("is what it was asked to make when it went away, and nothing that failed for another reason", () => {
    const { see, all } = gatherUnanswered();
    for (const name of ["lab-one", "lab-two", "lab-three"]) see(begun(CONTAINER, name));
    see(begun(NETWORK, "lab"));
    see(begun(CONTAINER, "lab-old", "delete"));
    see(failed(CONTAINER, "lab-one", "error during connect: Post x: EOF"));
    see(failed(CONTAINER, "lab-two", 'Conflict. The container name "/lab-two" is already in use by another one'));
    see(failed(CONTAINER, "lab-old", "Cannot connect to the Docker daemon at unix:///x.sock."));
    see(failed(NETWORK, "lab", "expected non-nil error with nil state during Create of urn:pulumi:lab"));
    expect(all()).toEqual([
      { type: CONTAINER, name: "lab-one" },
      { type: NETWORK, name: "lab" },
    ]);
  });

  it("is settled by the next run, but for what may have data, and forgotten once it is recorded", async () => {
    const kept = await files();
    const asked = [
      { type: CONTAINER, name: "lab-one" },
      { type: VOLUME, name: "lab-one-home" },
    ];
    await keepUnanswered(kept, null, asked);
    expect(await readUnanswered(kept)).toEqual(asked);
    const seen: unknown[] = [];
    const removeUnrecorded: TargetDriver["removeUnrecorded"] = async (_recorded, _report, _signal, among = []) => {
      seen.push(among);
      return among.filter(({ type }) => type === VOLUME);
    };
    const run = { signal: new AbortController().signal };
    const session = { files: kept, driver: { removeUnrecorded }, report: () => undefined, run };
    await removeUnanswered(session, null);
    expect(seen).toEqual([asked]);
    expect(await readUnanswered(kept)).toEqual([asked[1]]);
    const resource = {
      urn: urnOf(VOLUME, "lab-one-home"),
      type: VOLUME,
      custom: true,
      id: "x",
      inputs: { name: "lab-one-home" },
    };
    await keepUnanswered(kept, { version: 3, deployment: { resources: [resource] } } as ExportedState, []);
    expect(await readUnanswered(kept)).toEqual([]);
    await removeUnanswered(session, null);
    expect(seen).toHaveLength(1);
  });
});
