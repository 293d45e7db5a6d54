/** Where Discord's REST interface is. */
export const SERVER = "https://discord.com/api";
