import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { bringArchive, placeOf } from "../../../control/update/archive.ts";
import { Builds } from "../../../control/update/builds.ts";
import { type PrebuiltRequest, withPrebuilt } from "../../../control/update/prebuilt.ts";
import { temporaryDirectory } from "../../support/deployment.ts";
import { pack } from "../../support/update/archive.ts";

const { signal } = new AbortController();

/** The version that an archive would bring to a tree; the tree is as it was afterwards. */
async function inspectArchive(archive: string, checksum?: string): Promise<string> {
  const root = await temporaryDirectory();
  await writeFile(join(root, "package.json"), '{ "name": "cairn", "version": "1.0.0" }');
  const request: PrebuiltRequest = { archive, checksum };
  const at = { builds: new Builds(root), signal, report: () => undefined };
  try {
    return await withPrebuilt(request, at, async ({ to }) => to.version);
  } finally {
    expect(await readdir(join(root, ".cache", "builds")).catch(() => [])).toEqual([]);
  }
}

/** Serves an archive as /a.tgz, and its checksum beside it. */
async function serve(archive: string) {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    const url = request.url ?? "";
    asked.push(url);
    if (url.startsWith("/a.tgz")) response.end(await readFile(url.includes(".sha256") ? `${archive}.sha256` : archive));
    else if (url === "/elsewhere.tgz") response.writeHead(302, { location: "/a.tgz" }).end();
    else if (url === "/cut.tgz")
      response.writeHead(200, { "content-length": "1000" }).write("x", () => response.destroy());
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  // A server that listens on a port has an address of this kind.
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe("an archive of a built program", () => {
  it("is taken by its path, with the checksum beside it or the one that was passed", async () => {
    const { archive, checksum } = await pack("1.3.0");
    expect(await inspectArchive(archive)).toBe("1.3.0");
    await writeFile(`${archive}.sha256`, "0".repeat(64));
    await expect(inspectArchive(archive)).rejects.toThrow("does not match its checksum");
    expect(await inspectArchive(archive, checksum.toUpperCase())).toBe("1.3.0");
  });

  it("is taken by its address, and so is its checksum", async () => {
    const { archive, checksum } = await pack("1.3.0");
    const { url, asked } = await serve(archive);
    expect(await inspectArchive(`${url}/a.tgz?token=secret`)).toBe("1.3.0");
    expect(asked).toEqual(["/a.tgz.sha256?token=secret", "/a.tgz?token=secret"]);
    expect(await inspectArchive(`${url}/elsewhere.tgz`, checksum)).toBe("1.3.0");
    await expect(inspectArchive(`${url}/a.tgz?token=secret`, "0".repeat(64))).rejects.toThrow(
      `${url}/a.tgz does not match its checksum`,
    );
    await expect(inspectArchive(`${url}/gone.tgz?token=secret`, checksum)).rejects.toThrow(
      /^http:\/\/127\.0\.0\.1:\d+\/gone\.tgz cannot be fetched: the server answers 404\.$/,
    );
    await expect(inspectArchive(`${url}/cut.tgz`, checksum)).rejects.toMatchObject({ code: "INFRA_BUILD_FAILED" });
    await expect(inspectArchive(`${url}/gone.tgz`)).rejects.toMatchObject({ name: "UsageError" });
  });

  it("is never asked for without encryption, but on this machine", async () => {
    await expect(placeOf("http://downloads.example.org/a.tgz")).rejects.toThrow("without encryption");
    expect(await placeOf("https://downloads.example.org/a.tgz")).toMatchObject({ kind: "url" });
    expect(await placeOf("http://localhost:1/a.tgz")).toMatchObject({ kind: "url" });
  });

  it("is what was hashed, whatever becomes of the file meanwhile", async () => {
    const { archive } = await pack("1.3.0");
    const to = join(dirname(archive), "copy");
    const brought = await bringArchive({ kind: "file", path: archive }, { checksum: undefined, to, signal });
    await writeFile(archive, "another one");
    expect(
      createHash("sha256")
        .update(await readFile(brought.file))
        .digest("hex"),
    ).toBe(brought.sha256);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["of another program", { name: "raven" }, "it is of raven, and not of cairn"],
    ["of no version", { version: "latest" }, "latest is no version"],
    ["for another Node", { engines: { node: ">=99" } }, "needs Node >=99"],
  ])("is refused when it is %s", async (_name, more, words) => {
    await expect(inspectArchive((await pack("1.3.0", more)).archive)).rejects.toThrow(words);
  });

  it("is refused when it is something else, has no checksum, or is not there", async () => {
    const folder = await temporaryDirectory();
    const notes = join(folder, "notes.txt");
    await writeFile(notes, "hello");
    const checksum = createHash("sha256").update("hello").digest("hex");
    await expect(inspectArchive(notes, checksum)).rejects.toThrow("cannot be unpacked");
    await expect(inspectArchive(notes)).rejects.toMatchObject({
      name: "UsageError",
      hint: expect.stringContaining("--checksum"),
    });
    await writeFile(`${notes}.sha256`, "soon");
    await expect(inspectArchive(notes)).rejects.toThrow("has no SHA-256 checksum");
    await expect(inspectArchive(notes, "abc")).rejects.toThrow("--checksum has no SHA-256 checksum");
    await mkdir(join(folder, "cairn:1"));
    for (const name of ["cairn:1", join(folder, "cairn:1")]) {
      await expect(inspectArchive(name)).rejects.toMatchObject({ hint: expect.stringContaining("npm pack") });
    }
  });
});
