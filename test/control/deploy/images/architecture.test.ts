/** What Docker's command line says of the machines that an image is for. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { architectureOf, imageArchitectures } from "../../../../control/deploy/images/architecture.ts";
import { createFakeTools, type FakeTools } from "../../../support/fake-tools.ts";

const ID = `sha256:${"a".repeat(64)}`;
const DIGEST = `registry.example/cairn@sha256:${"b".repeat(64)}`;
const image = { id: ID, digest: null, reference: "registry.example/cairn:1", version: "1", revision: null };
const signal = new AbortController().signal;

let tools: FakeTools;
beforeEach(async () => {
  tools = await createFakeTools();
  vi.stubEnv("PATH", `${tools.directory}:${process.env.PATH}`);
});
afterEach(() => tools.remove());

const said = (architecture: string) => ({ Descriptor: { platform: { architecture, os: "linux" } } });
const answering = (value: unknown) => tools.add("docker", `echo '${JSON.stringify(value)}'`);

test("an image that no registry has is for what this machine's engine says", async () => {
  await answering([{ Id: ID, Size: 1, Os: "linux", Architecture: "arm64" }]);
  expect(await imageArchitectures(image, null, signal)).toEqual(["arm64"]);
});

test("one with a digest is for all that its registry has, whatever copy is here", async () => {
  await answering([said("arm64"), said("amd64"), said("unknown")]);
  expect(await imageArchitectures({ ...image, digest: DIGEST }, null, signal)).toEqual(["amd64", "arm64"]);
  expect(await tools.calls()).toEqual([["docker", "manifest", "inspect", "--verbose", DIGEST]]);
  await answering(said("arm64"));
  expect(await imageArchitectures({ ...image, digest: DIGEST }, null, signal)).toEqual(["arm64"]);
});

test.each([
  ["a registry that does not answer", "echo 'no such manifest' >&2; exit 1"],
  ["an answer that is no JSON", "echo '<html>'"],
  ["an answer without a platform", "echo '[{}]'"],
])("nobody knows it by %s", async (_words, script) => {
  await tools.add("docker", script);
  expect(await imageArchitectures({ ...image, digest: DIGEST }, null, signal)).toBeNull();
  expect(await imageArchitectures(image, null, signal)).toBeNull();
});

test("names of the kernel are Docker's", () => {
  expect(["x86_64\n", "aarch64", "riscv64", ""].map(architectureOf)).toEqual(["amd64", "arm64", "riscv64", ""]);
});
