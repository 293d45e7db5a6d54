import { appendFile, readFile } from "node:fs/promises";
import { z } from "zod";
import type { EmbeddingService } from "../../../runtime/contracts/embedding.ts";

/** A line of the file: the vector is 32-bit numbers, little-endian, in base64. */
const lineSchema = z.object({ text: z.string(), vector: z.base64() });
const BATCH = 32;

/**
 * The service, asked once for each text: the same conversations go into several stores, and an encoder takes minutes. What
 * stands in the file is not asked for at all, and what is asked for is added to it.
 */
export async function withCachedEmbeddings(service: EmbeddingService, file?: string): Promise<EmbeddingService> {
  const cached = file === undefined ? new Map<string, readonly number[]>() : await readVectors(file);
  return {
    model: service.model,
    get dimensions() {
      return service.dimensions ?? cached.values().next().value?.length ?? null;
    },
    async embed(texts, options) {
      const unknown = [...new Set(texts)].filter((text) => !cached.has(text));
      for (let from = 0; from < unknown.length; from += BATCH) {
        const asked = unknown.slice(from, from + BATCH);
        const vectors = await service.embed(asked, options);
        for (const [n, text] of asked.entries()) cached.set(text, vectors[n] ?? []);
        if (file !== undefined) await appendFile(file, asked.map((text, n) => line(text, vectors[n] ?? [])).join(""));
      }
      return texts.map((text) => cached.get(text) ?? []);
    },
    close: () => service.close(),
  };
}

async function readVectors(file: string): Promise<Map<string, readonly number[]>> {
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  const entries = text
    .split("\n")
    .filter((one) => one !== "")
    .map((one) => lineSchema.parse(JSON.parse(one)));
  return new Map(entries.map(({ text, vector }) => [text, numbers(Buffer.from(vector, "base64"))]));
}

function line(text: string, vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (const [n, value] of vector.entries()) bytes.writeFloatLE(value, n * 4);
  return `${JSON.stringify({ text, vector: bytes.toString("base64") })}\n`;
}

function numbers(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 4 }, (_, n) => bytes.readFloatLE(n * 4));
}
