/**
 * Landlock's scopes (kernel 6.12 or newer): a command signals only processes that it started, and connects to no abstract
 * socket but its own. setpriv does not support them; perl, which every Debian has, makes the three system calls.
 */

/** LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET and LANDLOCK_SCOPE_SIGNAL, with no rights on files or network handled. */
const RESTRICT = [
  "my $ruleset = pack('QQQ', 0, 0, 3);",
  "my $fd = syscall(444, $ruleset, length $ruleset, 0);",
  "die 'landlock_create_ruleset: ', $!, chr 10 if $fd < 0;",
  "die 'landlock_restrict_self: ', $!, chr 10 if syscall(446, $fd, 0) != 0;",
  "delete $ENV{PERL_BADLANG};",
  "exec { $ARGV[0] } @ARGV or die $ARGV[0], ': ', $!, chr 10;",
].join(" ");

/** Without it perl complains about a language that is not installed; the command does not get to see it. */
export const SCOPE_ENVIRONMENT = { PERL_BADLANG: "0" };

/** Pure. Arguments of perl in front of the command. No new privileges may be gained already: bubblewrap and setpriv see to it. */
export function scopeArguments(command: readonly string[]): string[] {
  return ["-e", RESTRICT, "--", ...command];
}
