/** What a person sees on a terminal, drawn from what a program has written: rows of text, or of cells with their colours. */
import xterm from "@xterm/headless";

/** Rows that are kept above the screen. */
const SCROLLBACK = 2_000;

export interface StyledText {
  readonly text: string;
  /** Of the 16 colours of a terminal; null for the usual one. */
  readonly colour: number | null;
  readonly bold: boolean;
  readonly dim: boolean;
}

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Every row that was ever shown and not erased, without blanks at its end. */
export async function drawnRows(written: string, size: Size): Promise<string[]> {
  return (await drawnRuns(written, size)).map((runs) =>
    runs
      .map(({ text }) => text)
      .join("")
      .trimEnd(),
  );
}

/** The same as stretches of one style each. */
export async function drawnRuns(written: string, { columns, rows }: Size): Promise<StyledText[][]> {
  const terminal = new xterm.Terminal({ cols: columns, rows, scrollback: SCROLLBACK, allowProposedApi: true });
  await new Promise<void>((resolve) => terminal.write(written, resolve));
  const { active } = terminal.buffer;
  const drawn: StyledText[][] = [];
  for (let y = 0; y < active.length; y += 1) drawn.push(runsOf(active.getLine(y), columns));
  terminal.dispose();
  const last = drawn.findLastIndex((runs) => runs.some(({ text }) => text.trim() !== ""));
  return drawn.slice(0, last + 1);
}

type BufferLine = ReturnType<xterm.Terminal["buffer"]["active"]["getLine"]>;

function runsOf(line: BufferLine, columns: number): StyledText[] {
  const runs: StyledText[] = [];
  for (let x = 0; x < columns; x += 1) {
    const cell = line?.getCell(x);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const text = cell.getChars() || " ";
    const style = {
      colour: cell.isFgPalette() && cell.getFgColor() < 16 ? cell.getFgColor() : null,
      bold: cell.isBold() !== 0,
      dim: cell.isDim() !== 0,
    };
    const before = runs.at(-1);
    const same = before?.colour === style.colour && before.bold === style.bold && before.dim === style.dim;
    if (same) runs[runs.length - 1] = { ...before, text: before.text + text };
    else runs.push({ text, ...style });
  }
  return runs;
}
