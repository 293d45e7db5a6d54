/**
 * `node bench/fit-ranking.ts FILE`: fits the ranking's weights to the features that `npm run bench -- recall --features FILE`
 * wrote, prints the recall of each conversation by the weights of the others, and the weights of all, for
 * runtime/domain/ranking/weights.ts.
 */

import { readFile } from "node:fs/promises";
import { z } from "zod";
import { FEATURES } from "../runtime/domain/ranking/features.ts";
import { type AskedQuestion, FITTED, fitAll, leaveOneOut, meanOf } from "./support/recall/questions.ts";

const dumpSchema = z.object({
  features: z.array(z.string()),
  asked: z.array(
    z.object({
      conversation: z.string(),
      category: z.number(),
      text: z.string(),
      wanted: z.number(),
      example: z.object({
        rows: z.array(z.array(z.number()).transform((row) => Float64Array.from(row))),
        evidence: z.array(z.number()),
      }),
    }),
  ),
});

const [file] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write("Usage: node bench/fit-ranking.ts FILE\n");
  process.exitCode = 2;
} else {
  const { features, asked } = dumpSchema.parse(JSON.parse(await readFile(file, "utf8")));
  if (features.join() !== FEATURES.join()) throw new Error("The file has other features than the ranking has now.");
  print(asked);
}

function print(asked: readonly AskedQuestion[]): void {
  const outs = leaveOneOut(asked, FITTED);
  for (const { conversation, recalls } of outs) line(conversation, meanOf(recalls));
  line("all, each by the others' weights", meanOf(outs.flatMap(({ recalls }) => recalls)));
  const weights = fitAll(asked, FITTED);
  for (const [n, feature] of FITTED.entries()) process.stdout.write(`${feature}: ${weights[n]?.toFixed(2)}\n`);
}

function line(name: string, recalls: readonly number[]): void {
  process.stdout.write(`${name}: ${recalls.map((one) => one.toFixed(4)).join(" ")}\n`);
}
