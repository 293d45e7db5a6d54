/** Bracketed paste: the terminal marks where pasted text begins and ends. Terminals without it ignore this. */

export const PASTE_ON = "\u001b[?2004h";
export const PASTE_OFF = "\u001b[?2004l";
