/** What each generation of models takes, known by its name. A guess that is wrong is put right by quirks.ts. */

export interface Generation {
  /** How the model thinks: not at all, with a budget of tokens, or as it sees fit. */
  readonly kind: "none" | "budget" | "adaptive";
  /** How thinking is kept off: by saying nothing, by a parameter, or not at all. */
  readonly off: "silence" | "disabled" | "between_tools" | "never";
  /** Whether it takes a temperature. */
  readonly samples: boolean;
  /** Whether system text may be among the messages. */
  readonly systemRole: boolean;
  /** Room for the answer when nothing is configured, and the most that a reply may take, both in tokens. */
  readonly answer: number;
  readonly most: number;
}

/** Generations by version. Names that are no Claude's belong to servers that imitate the API: the older form is safest. */
export function generationOf(model: string): Generation {
  const claude = /claude[-.]?(?:([a-z]+)[-.])?(\d+)?(?:[-.](\d{1,2}))?(?!\d)/.exec(model.toLowerCase());
  const old = { off: "silence", samples: true, systemRole: false } as const;
  if (claude === null) return { ...old, kind: "budget", answer: 8_192, most: 32_000 };
  const family = claude[1] ?? "";
  const alwaysThinks = family === "fable" || family === "mythos";
  // A Claude without a number is a preview: newer than all numbers known here.
  const preview = claude[2] === undefined;
  const version = preview ? Number.POSITIVE_INFINITY : Number(claude[2]) + Number(claude[3] ?? 0) / 100;

  if (version < 3.05) return { ...old, kind: "none", answer: 4_096, most: 4_096 };
  if (version < 3.07) return { ...old, kind: "none", answer: 8_192, most: 8_192 };
  if (version < 4.06 && !alwaysThinks) {
    return { ...old, kind: "budget", answer: 16_384, most: family === "opus" && version < 4.05 ? 32_000 : 64_000 };
  }
  return {
    kind: "adaptive",
    off: offSwitch(family, version, alwaysThinks),
    samples: version < 4.07 && !alwaysThinks,
    systemRole: !preview && (version >= 5.05 || alwaysThinks || (family === "opus" && version >= 4.08)),
    answer: 16_384,
    most: 64_000,
  };
}

function offSwitch(family: string, version: number, alwaysThinks: boolean): Generation["off"] {
  if (alwaysThinks) return "never";
  if (version < 5) return "silence";
  if (version >= 5.05 && family === "opus") return "never";
  return version >= 5.05 && family === "sonnet" ? "between_tools" : "disabled";
}
