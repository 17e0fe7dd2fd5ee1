// A server in a process of its own: Dibs, or a bare route of node:http that parses a body and answers as many bytes.

import { createServer } from "node:http";
import { join } from "node:path";

const dist = new URL("../dist/", import.meta.url);
const [kind, directory] = process.argv.slice(2);

const start = {
  async dibs() {
    const { serveDibs } = await import(new URL("serve.js", dist));
    const server = await serveDibs({ path: join(directory, "dibs.db"), port: 0, logLevel: "warn" });
    return { url: server.url, token: server.token, close: () => server.close() };
  },
  async bare() {
    const answer = { success: true, text: "x".repeat(1_200) };
    const server = createServer((incoming, outgoing) => {
      const chunks = [];
      incoming.on("data", (chunk) => chunks.push(chunk));
      incoming.on("end", () => {
        JSON.parse(Buffer.concat(chunks).toString());
        const body = JSON.stringify(answer);
        const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
        outgoing.writeHead(200, headers);
        outgoing.end(body);
      });
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    return { url: `http://127.0.0.1:${server.address().port}`, token: "none", close: () => server.close() };
  },
};

const { url, token, close } = await start[kind]();
process.on("message", async (message) => {
  if (message === "usage") {
    global.gc?.();
    process.send({ cpu: process.cpuUsage(), memory: process.memoryUsage() });
  } else {
    await close();
    process.disconnect();
  }
});
process.send({ url, token });
