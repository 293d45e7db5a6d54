import { appendFile, link, mkdir, rename, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { OutgoingFile } from "../../../../runtime/contracts/tool.ts";
import { mediaTypeOf } from "../../../../runtime/domain/outgoing-file.ts";
import { createSendFileTool } from "../../../../runtime/plugins/tools/send-file/index.ts";
import { createWorkspaceGate, type WorkspaceGate } from "../../../../runtime/plugins/tools/shared/locate.ts";
import { call, createPlace, SECRET } from "./support.ts";

/** `meanwhile`: what happens between the read of the file and the check that it is still the same. */
async function setUp(meanwhile: () => Promise<void> = async () => undefined) {
  const place = await createPlace();
  onTestFinished(() => place[Symbol.asyncDispose]());
  const right = createWorkspaceGate({
    protectedPaths: [join(place.base, ".env"), place.path("service.env"), place.home],
  });
  const gate: WorkspaceGate = {
    ...right,
    async assertNotProtected(located, file) {
      await right.assertNotProtected(located, file);
      await meanwhile();
    },
  };
  const sent: OutgoingFile[] = [];
  const tool = createSendFileTool({ gate });
  return {
    place,
    sent,
    send: (args: object) =>
      call(tool, place, { ...args }, undefined, { sendFile: async (file) => void sent.push(file) }),
  };
}

describe("send_file", () => {
  it("sends the bytes of a file under its name, or another one, and says what was sent", async () => {
    const { place, sent, send } = await setUp();
    await mkdir(place.path("out"));
    const data = Buffer.from([0x25, 0x50, 0x44, 0x46, 0, 255]);
    await writeFile(place.path("out", "a.pdf"), data);
    expect(await send({ path: "out/a.pdf" })).toEqual({
      content: "a.pdf (application/pdf, 6 bytes) is sent to the user.",
    });
    await send({ path: place.path("out/a.pdf"), name: "Report 3.PDF", caption: "As asked." });
    expect(sent).toEqual([
      { name: "a.pdf", mediaType: "application/pdf", data, caption: "" },
      { name: "Report 3.PDF", mediaType: "application/pdf", data, caption: "As asked." },
    ]);
  });

  it("sends nothing from outside the workspace, by a path, a link or a directory that is one", async () => {
    const { place, sent, send } = await setUp();
    await symlink(join(place.outside, "secret.txt"), place.path("link.txt"));
    await symlink(place.outside, place.path("folder"));
    for (const path of ["../ws-evil/secret.txt", join(place.outside, "secret.txt"), "link.txt", "folder/secret.txt"]) {
      expect((await send({ path })).content, path).toMatch(/^TOOL_OUTSIDE_WORKSPACE/);
    }
    expect(sent).toEqual([]);
  });

  it("sends none of the service's own files, also under another name", async () => {
    const { place, sent, send } = await setUp();
    await writeFile(place.path("service.env"), SECRET);
    await link(place.path("service.env"), place.path("notes.txt"));
    await link(join(place.home, "node.key"), place.path("key.txt"));
    for (const path of ["service.env", "notes.txt", "key.txt"]) {
      expect((await send({ path })).content, path).toMatch(/^TOOL_REFUSED: .*belongs to the service/);
    }
    expect(sent).toEqual([]);
  });

  it("refuses what is missing, a directory, a pipe's kind and what is too large", async () => {
    const { place, sent, send } = await setUp();
    await mkdir(place.path("dir"));
    await writeFile(place.path("dir", "a.txt"), "a");
    await writeFile(place.path("huge.bin"), "");
    await truncate(place.path("huge.bin"), 2 * 1024 ** 3);
    expect((await send({ path: "dri" })).content).toContain("no such file. Did you mean dir/?");
    expect((await send({ path: "dir" })).content).toContain("it is a directory, not a file. It holds: a.txt.");
    expect((await send({ path: "." })).content).toContain("it is a directory");
    expect((await send({ path: "huge.bin" })).content).toContain("too large; at most 26214400 bytes are sent");
    expect(sent).toEqual([]);
  });

  it.each([
    ["grows", (path: string) => appendFile(path, "more")],
    [
      "is replaced",
      async (path: string) => {
        await writeFile(`${path}.new`, "other");
        await rename(`${path}.new`, path);
      },
    ],
    ["is gone", (path: string) => rename(path, `${path}.old`)],
  ])("sends no file that %s while it is read", async (_what, change) => {
    const changed = await setUp(() => change(changed.place.path("log.txt")));
    await writeFile(changed.place.path("log.txt"), "lines");
    expect((await changed.send({ path: "log.txt" })).content).toMatch(/^TOOL_FAILED: log.txt: it changed while/);
    expect(changed.sent).toEqual([]);
  });
});

it("knows what a file is by its ending, and text without one", () => {
  const data = (text: string | readonly number[]) => Buffer.from(text as string);
  const of = (name: string, content: Buffer = data("text")) => mediaTypeOf(name, content);
  expect(of("a.PNG")).toBe("image/png");
  expect(of("letter.docx")).toBe("application/vnd.openxmlformats-officedocument.wordprocessingml.document");
  expect(of("index.ts")).toBe("text/plain");
  expect(of("film.ts", data([0x47, 0, 0, 0xff]))).toBe("video/mp2t");
  expect(of("README")).toBe("text/plain");
  expect(of("pdf")).toBe("text/plain");
  expect(of("a.constructor", data([0xff, 0xfe, 0]))).toBe("application/octet-stream");
  expect(of("core", data([0xff, 0x41]))).toBe("application/octet-stream");
});
