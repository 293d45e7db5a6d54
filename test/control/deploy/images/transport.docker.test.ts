/** Images that travel: from one real engine to another, and through a registry. */

import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { identityOf, inspectImage } from "../../../../control/deploy/images/inspect.ts";
import { withRegistryLogin } from "../../../../control/deploy/images/registry-login.ts";
import { hasImage, pullImage, sendImage } from "../../../../control/deploy/images/transport.ts";
import type { ImageIdentity } from "../../../../infra/plan/types.ts";
import { lacks } from "../../../lanes/tools.ts";
import { docker, dockerOutcome, uniqueName } from "../../../support/docker/containers.ts";
import { startRegistry, type TestRegistry } from "../../../support/docker/registry.ts";
import { type SecondEngine, startSecondEngine } from "../../../support/docker/second-engine.ts";

const CONTENT_BYTES = 3_000_000;

/** An image of one file that no engine has seen; it ends with the test. */
async function freshImage(repository = uniqueName("image")): Promise<ImageIdentity> {
  const reference = `${repository}:1.2.3`;
  const folder = await mkdtemp(join(tmpdir(), "cairn-test-"));
  onTestFinished(async () => {
    await rm(folder, { recursive: true, force: true });
    await dockerOutcome("image", "rm", "--force", reference);
  });
  await writeFile(join(folder, "content"), randomBytes(CONTENT_BYTES));
  const label = "LABEL org.opencontainers.image.version=1.2.3 org.opencontainers.image.revision=abc";
  await execa("tar", ["-C", folder, "-c", "."], { buffer: { stdout: false } }).pipe("docker", [
    "import",
    "--change",
    label,
    "-",
    reference,
  ]);
  const image = await inspectImage(reference);
  if (image === null) throw new Error("the image was not made");
  return identityOf(image, reference);
}

describe.skipIf(lacks("docker-twice"))("another engine", () => {
  let second: SecondEngine;
  const said: string[] = [];
  const report = (text: string): void => void said.push(text);
  beforeAll(async () => {
    second = await startSecondEngine();
  });
  afterAll(() => second?.stop());

  it("gets an image as a stream, with its id and its name", async () => {
    const image = await freshImage();
    expect(image).toMatchObject({ version: "1.2.3", revision: "abc", digest: null });
    expect(await hasImage(image, "local")).toBe(true);
    expect(await hasImage(image, second.host)).toBe(false);
    await sendImage({ image, from: "local", to: second.host, report });
    expect(await hasImage(image, second.host)).toBe(true);
    expect((await inspectImage(image.reference, second.host))?.id).toBe(image.id);
    expect(said.some((text) => text.includes("MB of about"))).toBe(true);
  });

  it("is not sent what it has", async () => {
    const image = await freshImage();
    await sendImage({ image, from: "local", to: second.host, report });
    await docker("image", "rm", "--force", image.reference);
    // The source has it no more, so nothing could be sent.
    await sendImage({ image, from: "local", to: second.host, report });
    expect(await hasImage(image, second.host)).toBe(true);
  });

  it("is not taken for having another image of the same name", async () => {
    const image = await freshImage();
    const other = await freshImage();
    await sendImage({ image: other, from: "local", to: second.host, report });
    await docker("-H", second.host, "image", "tag", other.reference, image.reference);
    expect(await hasImage(image, second.host)).toBe(false);
    await sendImage({ image, from: "local", to: second.host, report });
    expect((await inspectImage(image.reference, second.host))?.id).toBe(image.id);
  });

  it("cannot be sent what is not there", async () => {
    const image = { ...(await freshImage()), id: `sha256:${"0".repeat(64)}` };
    await expect(sendImage({ image, from: "local", to: second.host, report })).rejects.toMatchObject({
      code: "INFRA_IMAGE_MISSING",
      details: { hint: expect.stringContaining("cairn build") },
    });
  });

  it("that is gone is named", async () => {
    const image = await freshImage();
    const to = "unix:///nonexistent/docker.sock";
    await expect(sendImage({ image, from: "local", to, report })).rejects.toMatchObject({
      code: "INFRA_HOST_UNREACHABLE",
      message: expect.stringContaining(to),
    });
  });

  it("stops receiving when the command is interrupted", async () => {
    const image = await freshImage();
    const interruption = new AbortController();
    const stop = (): void => interruption.abort(new Error("interrupted"));
    const sending = sendImage({ image, from: "local", to: second.host, report: stop, signal: interruption.signal });
    await expect(sending).rejects.toThrow("interrupted");
  });
});

describe("a registry with a password", () => {
  let registry: TestRegistry;
  const report = (): void => undefined;
  beforeAll(async () => {
    registry = await startRegistry();
  });
  afterAll(() => registry?.close());

  const pushed = async (): Promise<ImageIdentity> => {
    const image = await freshImage(`${registry.server}/team/${uniqueName("image")}`);
    await withRegistryLogin(registry, (env) => execa("docker", ["push", "--quiet", image.reference], { env }));
    const now = await inspectImage(image.reference);
    if (now === null) throw new Error("the image was not made");
    const { digest } = identityOf(now, image.reference);
    await docker("image", "rm", "--force", image.reference);
    return { ...image, digest };
  };

  it("gives the image by its digest", async () => {
    const image = await pushed();
    const repository = image.reference.slice(registry.server.length + 1).replace(/:.*/, "");
    expect(image.digest).toBe(`${registry.server}/${repository}@${registry.digest(repository, "1.2.3")}`);
    expect(await hasImage(image, "local")).toBe(false);
    const pulled = await pullImage(image, "local", registry, report);
    onTestFinished(async () => void (await dockerOutcome("image", "rm", "--force", String(image.digest))));
    expect(pulled).toEqual(image);
    expect(await hasImage(image, "local")).toBe(true);
  });

  it("gives nothing without the right password, and the error does not show it", async () => {
    const image = await pushed();
    const password = "wrong-hunter2";
    const error = await pullImage(image, "local", { ...registry, password }, report).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "INFRA_IMAGE_MISSING" });
    expect(JSON.stringify(error) + String(error)).not.toContain(password);
    await expect(pullImage(image, "local", null, report)).rejects.toMatchObject({ code: "INFRA_IMAGE_MISSING" });
  });

  it("says when it lacks the image", async () => {
    const missing = `${registry.server}/team/nothing:1`;
    await expect(pullImage(missing, "local", registry, report)).rejects.toMatchObject({
      code: "INFRA_IMAGE_MISSING",
      message: expect.stringContaining(missing),
    });
  });
});
