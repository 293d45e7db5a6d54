/** The node is killed at every step between a message of a chat platform and its acknowledged reply, on each platform. */

import { CHAT_STEPS, describeKilledChats, PLATFORMS, type Platform } from "../support/faults/killed-chats.ts";

// The keys are what they are.
for (const platform of Object.keys(PLATFORMS) as Platform[]) describeKilledChats(platform, CHAT_STEPS);
