/** Where Slack's Web API is. */
export const SERVER = "https://slack.com/api";
