/** Reads a LoCoMo file: long conversations between two people, and questions with the turns that hold the evidence. */

import { readFile } from "node:fs/promises";
import { z } from "zod";

export interface Conversation {
  readonly id: string;
  /** In their order. */
  readonly turns: readonly Turn[];
  readonly questions: readonly Question[];
}

export interface Turn {
  /** `D3:12`: the twelfth turn of the third session. */
  readonly id: string;
  readonly session: number;
  readonly speaker: string;
  readonly text: string;
  /** Of a picture that goes with it. */
  readonly caption: string | null;
  /** ISO 8601. Turns of a session are a minute apart, as the file has one time a session. */
  readonly at: string;
}

export interface Question {
  readonly text: string;
  /** 1 several turns, 2 time, 3 open, 4 one turn, 5 about the wrong person. */
  readonly category: number;
  /** Ids of turns that exist; at least one. */
  readonly evidence: readonly string[];
}

const turnSchema = z.object({
  speaker: z.string(),
  dia_id: z.string(),
  text: z.string(),
  blip_caption: z.string().optional(),
});

const fileSchema = z.object({
  samples: z.array(
    z.object({
      sample_id: z.string(),
      conversation: z.record(z.string(), z.unknown()),
      qa: z.array(z.object({ question: z.string(), category: z.number(), evidence: z.array(z.string()) })),
    }),
  ),
});

export async function readLocomo(file: string): Promise<Conversation[]> {
  const { samples } = fileSchema.parse(JSON.parse(await readFile(file, "utf8")));
  return samples.map(({ sample_id: id, conversation, qa }) => {
    const turns = turnsOf(conversation);
    const turnIds = new Set(turns.map((turn) => turn.id));
    const questions = qa.map(({ question, category, evidence }) => ({
      text: question,
      category,
      // Some entries hold several ids, some name turns that do not exist.
      evidence: [...new Set(evidence.flatMap((ids) => ids.split(/[;,\s]+/)))].filter((turn) => turnIds.has(turn)),
    }));
    return { id, turns, questions: questions.filter(({ evidence }) => evidence.length > 0) };
  });
}

function turnsOf(conversation: Readonly<Record<string, unknown>>): Turn[] {
  const turns: Turn[] = [];
  for (let session = 1; `session_${session}` in conversation; session += 1) {
    const start = timeOf(z.string().parse(conversation[`session_${session}_date_time`]));
    for (const [n, turn] of z.array(turnSchema).parse(conversation[`session_${session}`]).entries()) {
      turns.push({
        id: turn.dia_id,
        session,
        speaker: turn.speaker,
        text: turn.text,
        caption: turn.blip_caption ?? null,
        at: new Date(start + n * 60_000).toISOString(),
      });
    }
  }
  return turns;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const TIME = /^(\d+):(\d+) (am|pm) on (\d+) (\w+), (\d{4})$/;

/** `1:56 pm on 8 May, 2023`, taken for UTC. */
function timeOf(text: string): number {
  const [, hour, minute, half, day, month, year] = TIME.exec(text.trim()) ?? [];
  const number = MONTHS.indexOf((month ?? "").slice(0, 3));
  if (year === undefined || number < 0) throw new Error(`Not a time of LoCoMo: ${text}`);
  return Date.UTC(Number(year), number, Number(day), (Number(hour) % 12) + (half === "pm" ? 12 : 0), Number(minute));
}
