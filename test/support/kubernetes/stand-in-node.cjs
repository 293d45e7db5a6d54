// A node's place is taken by this: it answers the probes, notes each start on its home volume, and tells what it sees.
const fs = require("node:fs");
const http = require("node:http");
const net = require("node:net");

const home = "/var/lib/cairn";
fs.appendFileSync(`${home}/starts`, `${process.env.HOSTNAME}\n`);
fs.writeFileSync("/srv/cairn/touched", "");
fs.writeFileSync("/tmp/touched", "");

const writable = (path) => {
  try {
    fs.writeFileSync(path, "");
    return true;
  } catch {
    return false;
  }
};

const report = () => {
  const env = fs.lstatSync("/etc/cairn/.env");
  const opened = fs.statSync("/etc/cairn/.env");
  return {
    starts: fs.readFileSync(`${home}/starts`, "utf8").trim().split("\n").length,
    configuration: fs.readFileSync("/etc/cairn/cairn.yaml", "utf8"),
    unusual: fs.readFileSync("/etc/cairn/seed/workspace/a b.md", "utf8"),
    env: fs.readFileSync("/etc/cairn/.env", "utf8"),
    owners: [env.uid, opened.uid],
    mode: (opened.mode & 0o7777).toString(8),
    user: [process.getuid(), process.getgid()],
    rootWritable: writable("/touched") || writable("/etc/cairn/touched") || writable("/opt/touched"),
    token: fs.existsSync("/var/run/secrets/kubernetes.io"),
  };
};

/** `/reach/<host>/<port>`: whether a connection comes about within three seconds. */
const reach = (url, done) => {
  const [, , host, port] = url.split("/");
  const socket = net.connect({ host, port: Number(port), timeout: 3000 });
  const end = (open) => {
    socket.destroy();
    done({ open });
  };
  socket.once("connect", () => end(true));
  socket.once("error", () => end(false));
  socket.once("timeout", () => end(false));
};

http
  .createServer((request, response) => {
    if (request.url.startsWith("/health/")) response.end("{}");
    else if (request.url.startsWith("/reach/")) reach(request.url, (report) => response.end(JSON.stringify(report)));
    else response.end(JSON.stringify(report()));
  })
  .listen(7433, "0.0.0.0");
process.on("SIGTERM", () => process.exit(0));
