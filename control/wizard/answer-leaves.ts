/** The schema of the answers as a list: each answer with its place, its flag and its values. Pure. */
import { z } from "zod";
import { type AnswerPath, patternOf } from "./answer-tree.ts";
import { type AnswerMeta, answersSchema, bare } from "./answers.ts";

export interface AnswerLeaf extends AnswerMeta {
  /** `*` stands for the name of an entry. */
  readonly path: AnswerPath;
  /** `provider.model`, `agents.*.model`: what prompts/texts.ts calls it. */
  readonly id: string;
  /**
   * `names` is a list itself (one flag an entry), `entry` an answer of one entry (`NAME=VALUE`), `pairs` a mapping of one entry
   * (`NAME/KEY=VALUE`), `switch` yes or no, `value` anything else.
   */
  readonly form: "value" | "switch" | "names" | "entry" | "pairs";
  readonly options: readonly string[] | null;
  readonly description: string;
  readonly schema: z.ZodType;
}

export function answerLeaves(): readonly AnswerLeaf[] {
  return leavesOf(answersSchema, []);
}

/** The leaf that a path of an answer leads to; the path of a list leads to the names of its entries. */
export function leafAt(leaves: readonly AnswerLeaf[], path: AnswerPath): AnswerLeaf {
  const id = patternOf(path);
  const leaf = leaves.find((one) => one.id === id);
  if (!leaf) throw new Error(`There is no answer ${id}.`);
  return leaf;
}

function leavesOf(schema: z.ZodObject, path: AnswerPath): AnswerLeaf[] {
  return Object.entries(schema.shape).flatMap(([key, inner]): AnswerLeaf[] => {
    const here = [...path, key];
    const found = bare(inner);
    if (found instanceof z.ZodObject) return leavesOf(found, here);
    if (found instanceof z.ZodArray && found.element instanceof z.ZodObject) {
      const [names, ...rest] = leavesOf(found.element, [...here, "*"]);
      if (!names) return [];
      return [{ ...names, path: here, id: patternOf(here), form: "names" }, ...rest];
    }
    // What is in a shape is a schema; the library's own type says less.
    return [leafOf(inner as z.ZodType, found, here)];
  });
}

function leafOf(schema: z.ZodType, found: unknown, path: AnswerPath): AnswerLeaf {
  const { phase, flag, helpValue, description } = schema.meta() ?? {};
  const entry = path.includes("*");
  let form: AnswerLeaf["form"] = entry ? "entry" : "value";
  if (found instanceof z.ZodRecord) form = "pairs";
  if (found instanceof z.ZodBoolean) form = "switch";
  const options = found instanceof z.ZodEnum ? found.options.map(String) : null;
  return {
    path,
    id: patternOf(path),
    form,
    options,
    schema,
    description: description ?? "",
    // `of` in answers.ts makes them.
    ...({ phase, flag, helpValue } as AnswerMeta),
  };
}
