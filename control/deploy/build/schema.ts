/** The published shape of `cairn build --json`. Apart from the build, which has no need to load a validator. */

import { z } from "zod";
import type { BuildResult } from "./types.ts";

const digest = z.string().regex(/^[^@\s]+@sha256:[0-9a-f]{64}$/);
const id = z.string().regex(/^sha256:[0-9a-f]{64}$/);

export const buildResult = z.strictObject({
  schema: z.literal(1),
  id: id.nullable().describe("Of this machine's engine; null when the image went to a registry alone"),
  digest: digest.nullable().describe("`repository@sha256:...` once a registry has it"),
  reference: z.string(),
  tags: z.array(z.string()).min(1).describe("The reference, and the other names"),
  version: z.string(),
  revision: z.string().nullable().describe("Commit, with `-dirty` when files differ from it"),
  base_image: z.string(),
  base_digest: id.nullable().describe("Of the base image; null where no registry could say it"),
  platforms: z.array(z.string()).describe("`linux/amd64` and the like"),
  size_bytes: z.number().int().nullable().describe("Unpacked, base included; null without --load"),
  pushed: z.boolean(),
  loaded: z.boolean(),
  attestations: z.array(z.enum(["sbom", "provenance"])),
  plugins: z.number().int().describe("Plugin directories inside"),
  skills: z.number().int().describe("Skill directories inside"),
  recorded: z.string().nullable().describe("The release file that names it now"),
  duration_ms: z.number().int(),
}) satisfies z.ZodType<BuildResult>;
