/** Where the Bot API is, unless a server of one's own has it. */
export const SERVER = "https://api.telegram.org";
