/** A recording of a terminal as one SVG file, whose frames follow each other by CSS alone: pages show it as a picture. Pure. */
import type { StyledText } from "./drawn.ts";

export interface Frame {
  /** Rows of the screen. */
  readonly rows: readonly (readonly StyledText[])[];
  readonly seconds: number;
}

const CELL = { width: 8.4, height: 18 };
const EDGE = 14;
/** Of a terminal with a dark ground; the usual one first. */
const USUAL = "#d5dae3";
const COLOURS = ["#5b6270", "#e0707c", "#8fc98a", "#e3c07a", "#79aef0", "#c792ea", "#7cc7d4", USUAL];

/** All frames have the same size; the last one stays where motion is not wanted. */
export function movingPicture(
  frames: readonly Frame[],
  size: { readonly columns: number; readonly rows: number },
): string {
  const width = Math.ceil(size.columns * CELL.width + 2 * EDGE);
  const height = Math.ceil(size.rows * CELL.height + 2 * EDGE);
  const groups = frames.map(({ rows }, index) => `<g id="f${index}">${rows.map(rowOf).join("")}</g>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" xml:space="preserve">`,
    "<title>The first minute: setup, start, a fact, and the memory that has it</title>",
    `<style>${styleSheet(frames.map(({ seconds }) => seconds))}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#1b1f27"/>`,
    ...groups,
    "</svg>",
    "",
  ].join("\n");
}

/** Frame `#f0` and so on, each shown for so many seconds. The last one is what is seen where nothing moves. */
function styleSheet(seconds: readonly number[]): string {
  const total = seconds.reduce((sum, one) => sum + one, 0);
  const percent = (count: number): string =>
    `${((100 * seconds.slice(0, count).reduce((sum, one) => sum + one, 0)) / total).toFixed(2)}%`;
  const last = seconds.length - 1;
  const moves = seconds.map((_one, index) => {
    const ends = index === last ? "" : `${percent(index + 1)}{visibility:hidden}`;
    const hidden = index === 0 ? "" : "0%{visibility:hidden}";
    const shown = `${hidden}${percent(index)}{visibility:visible}${ends}`;
    return `@keyframes f${index}{${shown}}#f${index}{animation:f${index} ${total}s step-end infinite}`;
  });
  const palette = COLOURS.map((colour, index) => `.c${index}{fill:${colour}}`).join("");
  return [
    // Without it browsers collapse blanks, and indented lines lose their indentation: they ignore xml:space.
    `text{white-space:pre;font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:${USUAL}}`,
    `${palette}.b{font-weight:bold}.d{opacity:.6}g{visibility:hidden}#f${last}{visibility:visible}`,
    `@media (prefers-reduced-motion:no-preference){${moves.join("")}}`,
  ].join("");
}

function rowOf(runs: readonly StyledText[], index: number): string {
  let column = 0;
  const spans = runs.map(({ text, colour, bold, dim }) => {
    const x = (EDGE + column * CELL.width).toFixed(1);
    column += text.length;
    if (text.trim() === "") return "";
    const classes = [...(colour === null ? [] : [`c${colour % 8}`]), ...(bold ? ["b"] : []), ...(dim ? ["d"] : [])];
    const attribute = classes.length === 0 ? "" : ` class="${classes.join(" ")}"`;
    return `<tspan x="${x}"${attribute}>${escaped(text.trimEnd())}</tspan>`;
  });
  const inside = spans.join("");
  return inside === "" ? "" : `<text y="${EDGE + (index + 0.8) * CELL.height}">${inside}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
