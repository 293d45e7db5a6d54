/** What is in a backup that somebody who knows the passphrase has made: nothing of it is written outside of the place that is filled. */

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Encrypter } from "age-encryption";
import { describe, expect, it } from "vitest";
import { openBackup, verifyOnly } from "../../../control/backup/read.ts";
import { createExtraction } from "../../../control/backup/restore/extract.ts";
import { Tally } from "../../../control/backup/tally.ts";
import { ARCHIVE_END, type Entry, entryHead, entryTail } from "../../../control/backup/tar.ts";
import { temporaryDirectory } from "../../support/deployment.ts";

const PASSPHRASE = "correct horse battery staple";
const signal = new AbortController().signal;

interface Given extends Partial<Entry> {
  readonly name: string;
  readonly text?: string;
}

/** SHA-256 of nothing. */
const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const MANIFEST = {
  cairn_backup: 1,
  id: "one",
  version: "0.1.0",
  schema_version: 21,
  created_at: "2030-01-31T00:00:00.000Z",
  deployment: { target: "manual", backend: "embedded", nodes: null, directory: "/d", home: "/d/.cairn" },
  memories: [{ entry: "memory.backup", node: null, bytes: 0, sha256: EMPTY }],
};

function bytesOf({ text = "", ...given }: Given): { readonly entry: Entry; readonly bytes: Buffer } {
  const content = Buffer.from(text);
  const entry: Entry = {
    type: "file",
    mode: 0o600,
    modified: new Date(0),
    size: content.length,
    target: null,
    ...given,
  };
  return { entry, bytes: Buffer.concat([entryHead(entry), content, entryTail(content.length)]) };
}

/** A sealed file with these entries, and a list of parts that is right for them. */
async function backupOf(
  given: readonly Given[],
  { manifest = MANIFEST, last }: { readonly manifest?: object; readonly last?: object } = {},
): Promise<Buffer> {
  const tally = new Tally();
  const made = [{ name: "memory.backup" }, ...given].map((one) => {
    const { entry, bytes } = bytesOf(one);
    tally.begin(entry);
    if ("text" in one && one.text !== undefined) tally.content(entry.name, Buffer.from(one.text));
    return bytes;
  });
  const summary = last ?? { parts: tally.parts(), left_out: [] };
  return seal([
    bytesOf({ name: "manifest.json", text: JSON.stringify(manifest) }).bytes,
    ...made,
    bytesOf({ name: "parts.json", text: JSON.stringify(summary) }).bytes,
    Buffer.from(ARCHIVE_END),
  ]);
}

async function seal(parts: readonly Buffer[]): Promise<Buffer> {
  const encrypter = new Encrypter();
  encrypter.setPassphrase(PASSPHRASE);
  encrypter.setScryptWorkFactor(10);
  return Buffer.from(await encrypter.encrypt(new Uint8Array(Buffer.concat(parts))));
}

/** Everything below the directory, after an attempt to fill `filled` in it. */
async function extracted(bytes: Uint8Array, passphrase = PASSPHRASE) {
  const around = await temporaryDirectory();
  const file = join(around, "file");
  await writeFile(file, bytes);
  const [directory, home] = [join(around, "filled"), join(around, "filled", ".cairn")];
  await mkdir(home, { recursive: true });
  const places = { directory, home, archive: () => join(around, "memory.backup") };
  const outcome = await (async () => {
    const opened = await openBackup(file, { passphrase, signal });
    try {
      const extraction = createExtraction(places);
      await opened.read(extraction.take);
      await extraction.finish();
      return "filled";
    } finally {
      await opened.close();
    }
  })().catch((error: unknown) => error);
  const names = (await readdir(around, { recursive: true })).filter((name) => !name.startsWith("filled")).sort();
  return { outcome, directory, home, names };
}

describe("a backup with the right passphrase", () => {
  it("is unpacked with its modes and its links", async () => {
    const { outcome, directory, home } = await extracted(
      await backupOf([
        { name: "directory/workspace", type: "directory", mode: 0o500, size: 0 },
        { name: "directory/workspace/run.sh", mode: 0o755, text: "#!/bin/sh\n" },
        { name: "directory/workspace/link", type: "link", target: "run.sh", size: 0 },
        { name: `directory/workspace/${"long ".repeat(40)}ü/name`, text: "x" },
        { name: "home/node.key", text: "key" },
      ]),
    );
    expect(outcome).toBe("filled");
    expect(await readFile(join(directory, "workspace", "link"), "utf8")).toBe("#!/bin/sh\n");
    expect(await readFile(join(directory, "workspace", `${"long ".repeat(40)}ü`, "name"), "utf8")).toBe("x");
    expect(await readFile(join(home, "node.key"), "utf8")).toBe("key");
  });

  it.each<[string, readonly Given[]]>([
    ["an absolute name", [{ name: "/tmp/out", text: "x" }]],
    ["a way up", [{ name: "directory/../../out", text: "x" }]],
    ["a part of no backup", [{ name: "elsewhere/out", text: "x" }]],
    ["a file in place of a part", [{ name: "directory", text: "x" }]],
    ["an absolute link", [{ name: "directory/l", type: "link", target: "/etc", size: 0 }]],
    ["a link that leads up and out", [{ name: "directory/a/l", type: "link", target: "../../out", size: 0 }]],
    [
      "a link that goes up behind another link",
      [{ name: "directory/a/l", type: "link", target: "b/../../..", size: 0 }],
    ],
    ["a control character in a name", [{ name: "directory/a\u001b[2Jb", text: "x" }]],
    ["a second memory", [{ name: "memory.backup", text: "" }]],
  ])("is refused with %s", async (_what, given) => {
    const { outcome, names } = await extracted(await backupOf(given));
    expect(outcome).toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
    expect(names.filter((name) => !["file", "memory.backup"].includes(name))).toEqual([]);
  });

  it("writes nothing through a link of its own", async () => {
    const { outcome, names } = await extracted(
      await backupOf([
        { name: "directory/a", type: "directory", size: 0, mode: 0o700 },
        { name: "directory/l", type: "link", target: "a", size: 0 },
        { name: "directory/l/file", text: "x" },
      ]),
    );
    expect(outcome).toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
    expect(names).toEqual(["file", "memory.backup"]);
  });

  it("is refused where a name is there twice", async () => {
    const twice = { name: "directory/.env", text: "x" };
    expect((await extracted(await backupOf([twice, twice]))).outcome).toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
  });

  it.each<[string, object]>([
    ["hash", { name: "directory", files: 1, bytes: 1, sha256: "0".repeat(64) }],
    ["length", { name: "directory", files: 1, bytes: 2, sha256: "0".repeat(64) }],
  ])("is refused where the %s of a part is another one", async (_what, part) => {
    const bytes = await backupOf([{ name: "directory/.env", text: "x" }], { last: { parts: [part], left_out: [] } });
    const { outcome } = await extracted(bytes);
    expect(outcome).toMatchObject({ message: "The backup cannot be used: a part of it was altered." });
  });

  it("is refused where its memory is not the one that the manifest names", async () => {
    const memories = [{ entry: "memory.backup", node: null, bytes: 0, sha256: "0".repeat(64) }];
    const { outcome } = await extracted(await backupOf([], { manifest: { ...MANIFEST, memories } }));
    expect(outcome).toMatchObject({ message: "The backup cannot be used: its memory was altered." });
  });

  it("is refused where its list of parts is missing, and where its format is a later one", async () => {
    const manifest = bytesOf({ name: "manifest.json", text: JSON.stringify(MANIFEST) }).bytes;
    const memory = bytesOf({ name: "memory.backup" }).bytes;
    const cut = await extracted(await seal([manifest, memory, Buffer.from(ARCHIVE_END)]));
    expect(cut.outcome).toMatchObject({ message: "The backup cannot be used: the list of its parts is missing." });
    const later = await extracted(await backupOf([], { manifest: { ...MANIFEST, cairn_backup: 2 } }));
    expect(later.outcome).toMatchObject({
      message: "The backup cannot be used: its format 2 is not known to this version.",
    });
  });

  it("is refused where something follows the list of its parts", async () => {
    const whole = [
      bytesOf({ name: "manifest.json", text: JSON.stringify(MANIFEST) }).bytes,
      bytesOf({ name: "parts.json", text: JSON.stringify({ parts: [], left_out: [] }) }).bytes,
      bytesOf({ name: "directory/.env", text: "x" }).bytes,
    ];
    const { outcome } = await extracted(await seal([...whole, Buffer.from(ARCHIVE_END)]));
    expect(outcome).toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
  });
});

describe("a file that is not whole", () => {
  const big = { name: "directory/big", text: "0123456789".repeat(40_000) };

  it("says so when the passphrase is another one", async () => {
    const { outcome } = await extracted(await backupOf([]), "another passphrase");
    expect(outcome).toMatchObject({ message: "The passphrase does not open this backup." });
  });

  it.each([[0], [10], [300], [5_000], [70_000], [200_000]])(
    "says so when it is cut off after %i bytes",
    async (length) => {
      const { outcome } = await extracted((await backupOf([big])).subarray(0, length));
      expect(outcome).toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
    },
  );

  it.each([[20], [120], [1_000], [70_000], [-1]])("says so when the byte at %i is flipped", async (at) => {
    const bytes = await backupOf([big]);
    const place = at < 0 ? bytes.length + at : at;
    bytes[place] = (bytes[place] ?? 0) ^ 1;
    const { outcome } = await extracted(bytes);
    expect(outcome).toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
  });

  it("has the archive of its memory checked as well", async () => {
    const around = await temporaryDirectory();
    await writeFile(join(around, "file"), await backupOf([]));
    const opened = await openBackup(join(around, "file"), { passphrase: PASSPHRASE, signal });
    await expect(opened.read(verifyOnly)).rejects.toMatchObject({ code: "MEMORY_ARCHIVE_INVALID" });
    await opened.close();
  });

  it("is no backup when it is something else", async () => {
    const { outcome } = await extracted(Buffer.from("hello\n".repeat(100)));
    expect(outcome).toMatchObject({
      message: "The backup cannot be used: it is no file of `cairn backup`, or is cut off.",
    });
  });
});
