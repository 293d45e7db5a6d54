"""Runs a program on a pseudo-terminal: `pseudo_terminal.py COLUMNS ROWS PROGRAM ARGS...`.

Standard input is typed into it, what it shows comes out, and its exit code is this one's (128 and the number for a signal).
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios

columns, rows, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    os.execvpe(program[0], program, os.environ)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
# The first line tells who it is, for those who end it.
os.write(1, b"pid %d\n" % child)
typing = True
while True:
    ready, _, _ = select.select([terminal, 0] if typing else [terminal], [], [])
    if 0 in ready:
        text = os.read(0, 65536)
        if text:
            os.write(terminal, text)
        else:
            typing = False
    if terminal in ready:
        try:
            shown = os.read(terminal, 65536)
        except OSError:
            break
        if not shown:
            break
        os.write(1, shown)
_, status = os.waitpid(child, 0)
sys.exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
