// A service of known demands: each GET burns CPU here by counted work, and has a Redis run a counted loop.
const http = require("node:http");
const net = require("node:net");

const [port, redisPort, steps, loops] = process.argv.slice(2).map(Number);
const script = `local s=0 for i=1,${loops} do s=s+i end return s`;
const command = `*3\r\n$4\r\nEVAL\r\n$${script.length}\r\n${script}\r\n$1\r\n0\r\n`;
let requests = 0;
let sink = 0;

function burn() {
  let x = steps | 1;
  for (let i = 0; i < steps; i++) {
    x ^= x << 13;
    x ^= x >>> 7;
    x ^= x << 17;
  }
  sink = x;
}

const redis = net.connect(redisPort, "127.0.0.1");
redis.setNoDelay(true);
const waiting = [];
let rest = "";
redis.on("data", (bytes) => {
  const lines = (rest + bytes).split("\r\n");
  rest = lines.pop();
  for (const _ of lines) {
    waiting.shift()();
  }
});

http
  .createServer((request, response) => {
    if (request.url === "/count") {
      response.end(String(requests));
      return;
    }
    if (request.method === "HEAD") {
      response.end();
      return;
    }
    burn();
    waiting.push(() => {
      requests += 1;
      response.end("ok");
    });
    redis.write(command);
  })
  .listen(port, "127.0.0.1");
