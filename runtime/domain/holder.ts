/** Who has a share of their own of what a node can do: a user, or a token with all users that it names, as many as it likes. Pure. */

export function holderOf(user: string): string {
  return user.startsWith("token:") ? (user.split("/", 1)[0] ?? user) : user;
}
