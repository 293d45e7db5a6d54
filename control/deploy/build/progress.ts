/**
 * Reads the plain progress of BuildKit: which step runs, its last output, which one failed. The plain form is the
 * one that every buildx has.
 */

/** What a live line is made of. */
export interface BuildStep {
  readonly name: string;
  readonly startedAtMs: number;
}

export interface BuildFailure {
  /** As it stands in the Dockerfile, with its stage: `[dependencies 4/4] RUN npm ci`. Null when no step failed. */
  readonly step: string | null;
  /** BuildKit's words. */
  readonly reason: string;
  /** Last output of the failing step. */
  readonly output: readonly string[];
}

const KEPT_LINES = 30;

interface Vertex {
  readonly name: string;
  readonly startedAtMs: number;
  readonly output: string[];
  ended: boolean;
}

export class BuildProgress {
  readonly #vertices = new Map<string, Vertex>();
  readonly #now: () => number;
  readonly #last: string[] = [];
  #failed: { readonly vertex: Vertex; readonly reason: string } | undefined;
  #reason = "";

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Takes one line of standard error. */
  line(text: string): void {
    if (text.trim() !== "") keep(this.#last, text);
    // Number 0 is no step: it names the builder.
    const match = /^#([1-9]\d*) (.*)$/.exec(text);
    if (match) this.#vertexLine(match[1] ?? "", match[2] ?? "");
    else if (text.startsWith("ERROR: ")) this.#reason = text.slice("ERROR: ".length);
  }

  /** The step that has been at work longest; null between steps. */
  current(): BuildStep | null {
    for (const vertex of this.#vertices.values())
      if (!vertex.ended && !vertex.name.startsWith("[internal]")) return vertex;
    return null;
  }

  failure(): BuildFailure {
    const { vertex, reason } = this.#failed ?? {};
    return {
      step: vertex?.name ?? null,
      reason: reason ?? this.#reason,
      output: vertex && vertex.output.length > 0 ? vertex.output : this.#last,
    };
  }

  #vertexLine(id: string, text: string): void {
    const existing = this.#vertices.get(id);
    if (existing === undefined) {
      this.#vertices.set(id, { name: text, startedAtMs: this.#now(), output: [], ended: false });
    } else if (/^DONE \d|^CACHED$|^CANCELED$/.test(text)) {
      existing.ended = true;
    } else if (text.startsWith("ERROR: ")) {
      existing.ended = true;
      // Steps that run beside the failing one are only cancelled.
      if (!/context canceled$/.test(text)) this.#failed ??= { vertex: existing, reason: text.slice("ERROR: ".length) };
    } else {
      const said = /^\d+\.\d+ (.*)$/.exec(text)?.[1];
      if (said !== undefined) keep(existing.output, said);
    }
  }
}

function keep(lines: string[], line: string): void {
  lines.push(line);
  if (lines.length > KEPT_LINES) lines.shift();
}
