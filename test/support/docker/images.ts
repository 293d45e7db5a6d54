/**
 * The images that the docker lane starts from: stand-ins for the official ones, made on this machine, because a machine that
 * tests may have package mirrors and no image registry. Made once and kept; a changed recipe makes them anew.
 */

import { createHash } from "node:crypto";
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { execa } from "execa";
import { withLock } from "../../../scripts/lib/lock.js";
import { mirrorArguments } from "../debian.ts";
import { type TestImages, testImages } from "./names.ts";

/** Longest time of the first run, in milliseconds; for `beforeAll(ensureTestImages, IMAGES_TIMEOUT_MS)`. */
export const IMAGES_TIMEOUT_MS = 15 * 60_000;

const BASE = "cairn-test/base:trixie";
const LABEL = "dev.cairn.recipe";
const LOCAL_CERTIFICATES = "/usr/local/share/ca-certificates";

/** Names of images that are there when this resolves. */
export async function ensureTestImages(): Promise<TestImages> {
  const { CAIRN_TEST_NODE_IMAGE, CAIRN_TEST_POSTGRES_IMAGE } = process.env;
  const { node, postgres } = testImages();
  const wanted = [
    ...(CAIRN_TEST_NODE_IMAGE ? [] : [{ name: node, recipe: "node", prepare: prepareNode }]),
    ...(CAIRN_TEST_POSTGRES_IMAGE ? [] : [{ name: postgres, recipe: "postgres", prepare: async () => undefined }]),
  ];
  for (const image of wanted) await ensure(image);
  return { node, postgres };
}

interface Recipe {
  readonly name: string;
  readonly recipe: string;
  prepare(context: string): Promise<void>;
}

async function ensure(image: Recipe): Promise<void> {
  const mark = await markOf(image.recipe);
  if ((await markOnImage(image.name)) === mark) return;
  await withLock("test-images", async () => {
    // Somebody else may have made it while we waited.
    if ((await markOnImage(image.name)) === mark) return;
    await ensureBase();
    await build(image, mark);
  });
}

/** Name of an image of PostgreSQL 18 with pgvector; CAIRN_TEST_NEXT_POSTGRES_IMAGE names another one. Not of every run: nightly suites alone. */
export async function ensureNextPostgres(): Promise<string> {
  const { CAIRN_TEST_NEXT_POSTGRES_IMAGE: given } = process.env;
  if (given) return given;
  await ensureTestImages();
  const name = "cairn-test/postgres:18";
  await ensure({ name, recipe: "next-postgres", prepare: async () => undefined });
  return name;
}

/** Changes with everything that the image is made of. */
async function markOf(recipe: string): Promise<string> {
  const folder = join(import.meta.dirname, recipe);
  const hash = createHash("sha256").update(recipe === "node" ? process.version : "");
  for (const name of (await readdir(folder)).sort())
    hash.update(`${name}\0`).update(await readFile(join(folder, name)));
  return hash.digest("hex").slice(0, 16);
}

async function markOnImage(name: string): Promise<string> {
  const format = `{{index .Config.Labels "${LABEL}"}}`;
  const { stdout } = await execa("docker", ["image", "inspect", "--format", format, name], { reject: false });
  return stdout;
}

async function ensureBase(): Promise<void> {
  const present = await execa("docker", ["image", "inspect", BASE], { reject: false, stdout: "ignore" });
  if (!present.failed) return;
  if (process.getuid?.() !== 0)
    throw new Error("debootstrap needs root; name images with CAIRN_TEST_NODE_IMAGE instead");
  const root = await mkdtemp(join(tmpdir(), "cairn-test-base-"));
  try {
    await execa("debootstrap", ["--variant=minbase", "trixie", root, ...mirrorArguments()]);
    for (const folder of ["var/cache/apt", "var/lib/apt/lists"]) {
      await rm(join(root, folder), { recursive: true, force: true });
      await mkdir(join(root, folder), { recursive: true });
    }
    // An image is for files: what the kernel provides is mounted by the engine.
    const excluded = ["proc", "sys", "dev"].map((folder) => `--exclude=./${folder}/*`);
    await execa("tar", ["-C", root, ...excluded, "-c", "."], { buffer: { stdout: false } }).pipe("docker", [
      "import",
      "--change",
      'CMD ["bash"]',
      "-",
      BASE,
    ]);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function build(image: Recipe, mark: string): Promise<void> {
  const context = await mkdtemp(join(tmpdir(), "cairn-test-image-"));
  try {
    await cp(join(import.meta.dirname, image.recipe), context, { recursive: true });
    await image.prepare(context);
    await execa("docker", ["build", "--label", `${LABEL}=${mark}`, "--tag", image.name, context], {
      env: { DOCKER_BUILDKIT: "1" },
    });
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}

/** The Node that runs the tests, and its npm as the registry has it. */
async function prepareNode(context: string): Promise<void> {
  await copyFile(process.execPath, join(context, "node"));
  const { stdout } = await execa("npm", ["pack", "--silent", "npm@11", "--pack-destination", context], {
    cwd: context,
  });
  await execa("tar", ["-xzf", join(context, stdout.trim().split("\n").at(-1) ?? ""), "-C", context]);
  const certificates = join(context, "certificates");
  await mkdir(certificates);
  for (const name of await readdir(LOCAL_CERTIFICATES).catch(() => [])) {
    if (name.endsWith(".crt")) await copyFile(join(LOCAL_CERTIFICATES, name), join(certificates, name));
  }
}
