/** What may be meant but most likely is not: unknown keys, numbers out of range, secrets in the file. Pure. */
import { hasReference } from "./references.ts";
import { type Finding, suggestion } from "./report.ts";
import { configSchema, type ParsedConfig } from "./schema.ts";
import { unknownKeys } from "./schema-walk.ts";
import { holdsSecret, isSecretPath, urlPassword } from "./secret-values.ts";
import { isMap, type TreeMap, type TreePath, texts } from "./tree.ts";

interface Range {
  /** `*`: any key. */
  readonly path: readonly string[];
  readonly min: number;
  readonly max: number;
  readonly why: string;
}

const RANGES: readonly Range[] = [
  { path: ["runtime", "max_tool_iterations"], min: 1, max: 500, why: "a turn may run very long" },
  { path: ["providers", "*", "temperature"], min: 0, max: 2, why: "providers refuse other values" },
  { path: ["providers", "*", "max_tokens"], min: 1, max: 1_000_000, why: "no model writes that many" },
  { path: ["providers", "*", "context_window"], min: 4_000, max: 10_000_000, why: "history is cut by it" },
  { path: ["memory", "postgres", "pool"], min: 2, max: 100, why: "all nodes together must stay below max_connections" },
  { path: ["memory", "embedding", "batch"], min: 1, max: 1_000, why: "one request carries them all" },
  { path: ["memory", "embedding", "dimensions"], min: 1, max: 4_000, why: "longer vectors are cut" },
  { path: ["memory", "summarizer", "context_window"], min: 16_000, max: 10_000_000, why: "a batch must fit into it" },
  { path: ["memory", "search", "weights", "*"], min: 0, max: 1, why: "weights are parts of a score" },
];
/** Anthropic's range is narrower than the others'. */
const ANTHROPIC_TEMPERATURE: Range = { path: [], min: 0, max: 1, why: "anthropic refuses other values" };

export function unknownKeyWarnings(written: TreeMap): Finding[] {
  return [...unknownKeys(configSchema, written)].map(({ path, siblings }) => {
    const key = String(path.at(-1));
    const hint = suggestion(key, siblings);
    return {
      path,
      code: "unknown-key",
      message: `unknown key, kept but not used`,
      ...(hint === undefined ? {} : { hint }),
    };
  });
}

export function rangeWarnings(config: Partial<ParsedConfig>): Finding[] {
  return RANGES.flatMap((range) =>
    [...valuesAt(config, range.path, [])].flatMap(({ path, value }) => {
      const anthropic =
        path[0] === "providers" &&
        path[2] === "temperature" &&
        config.providers?.[String(path[1])]?.kind === "anthropic";
      const { min, max, why } = anthropic ? ANTHROPIC_TEMPERATURE : range;
      if (value >= min && value <= max) return [];
      return [
        {
          path,
          code: "out-of-range" as const,
          message: `${value} is out of the usual range, ${min} to ${max}: ${why}`,
        },
      ];
    }),
  );
}

/** Secrets belong into .env or a password manager, never into a file that is made to be kept in git. */
export function hardcodedSecretWarnings(written: TreeMap): Finding[] {
  return [...texts(written)].flatMap(({ path, text }) => {
    if (!isHardcoded(path, text)) return [];
    const message = "a secret stands in the file itself";
    return [
      {
        path,
        code: "hardcoded-secret" as const,
        message,
        hint: `put it into .env and refer to it as \${${variableFor(path)}}`,
      },
    ];
  });
}

function isHardcoded(path: TreePath, text: string): boolean {
  if (holdsSecret(text)) return true;
  if (urlPassword(text) !== null || hasReference(text) || text === "") return false;
  return isSecretPath(path) && !URL.canParse(text);
}

function variableFor(path: TreePath): string {
  const parts = path.filter(
    (key) => typeof key === "string" && key !== "providers" && key !== "channels" && key !== "env",
  );
  return parts
    .join("_")
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, "_")
    .replace(/^(\d)/, "_$1");
}

function* valuesAt(
  value: unknown,
  pattern: readonly string[],
  path: TreePath,
): Generator<{ path: TreePath; value: number }> {
  const [key, ...rest] = pattern;
  if (key === undefined) {
    if (typeof value === "number") yield { path, value };
  } else if (isMap(value)) {
    for (const name of key === "*" ? Object.keys(value) : [key]) yield* valuesAt(value[name], rest, [...path, name]);
  }
}
