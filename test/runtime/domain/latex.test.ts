import { expect, it } from "vitest";
import { holdsLatex } from "../../../runtime/domain/latex.ts";

it.each([
  "The latency fell from 40 ms to 12 ms ($\\approx 70\\%$).",
  "It grew as $O(n^2)$.",
  "A \\rightarrow B",
  "\\textbf{done}",
  "\\begin{itemize} \\item x \\end{itemize}",
  "The share was \\( x \\).",
  "$$ E = mc^2 $$",
  "It set $x_1$ to 4.",
])("finds LaTeX in %j", (text) => expect(holdsLatex(text)).toBe(true));

it.each([
  "The agent read C:\\temp\\right.txt.",
  "It exported $HOME_DIR and $PATH_TO_X.",
  "It cost $5 and then $6.",
  "grep -E '\\bfoo\\(bar\\)' matched",
  "a → b, x² ≤ 4",
  "sed 's/\\(a\\|b\\)/x/'".replace("\\(a\\|b\\)", "[ab]"),
  "PRICE=$A=$B",
  "",
])("finds none in %j", (text) => expect(holdsLatex(text)).toBe(false));
