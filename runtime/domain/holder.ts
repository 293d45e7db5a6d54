/** The unit of fair shares of a node's capacity: a user, or a token with all users that it names. Pure. */

export function holderOf(user: string): string {
  return user.startsWith("token:") ? (user.split("/", 1)[0] ?? user) : user;
}
