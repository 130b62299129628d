// The live page of `fairlead serve` (fairlead/serve/page.html), with a server of fixed answers.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { launch, out, root } from "./browser.mjs";

const EVIL = `<img src=x onerror="document.title='evil'">`;
const START_MS = Date.UTC(2026, 2, 1, 9, 30);

function job(id, user, gpus, state, more = {}) {
  return {
    id,
    name: `resnet-sweep-${id}`,
    user,
    model: "ResNet50",
    gpus,
    state,
    submitted_unix_ms: START_MS - id * 300_000,
    finished_unix_ms: null,
    gpu_s: state === "waiting" ? 0 : 5400 * gpus,
    on: [],
    restarts: 0,
    reason: "",
    exit_code: 0,
    signal: 0,
    declared_s: null,
    progress: null,
    ...more,
  };
}

// The server's answer at its n-th poll: each a minute later, with every GPU in use.
function world(n) {
  const jobs = [
    job(1, "ann", 4, "running", {
      on: [{ node: "v100", gpus: [0, 1, 2, 3] }],
      progress: { done: 31_000, total: 50_000, unit_per_s: 14 },
    }),
    job(2, "bob", 2, "running", { on: [{ node: "v100", gpus: [4, 5] }] }),
    job(3, "cy", 1, "starting", { name: EVIL, on: [{ node: "k80", gpus: [8] }] }),
    job(4, "ann", 8, "waiting", {
      reason: "waits for 8 GPUs of one node: 2 of v100 are free, and bob has had less than he is entitled to",
    }),
    job(5, "dora-with-a-rather-long-account-name", 2, "suspended", {
      reason: "suspended: ann and bob are behind in their shares; it goes on within 2 min",
    }),
    job(6, "bob", 1, "held", { reason: "held by bob" }),
    job(7, "cy", 1, "waiting", { reason: "waits for a GPU of type V100", name: "x".repeat(120) }),
  ];
  const gpu = (index, state, of = null) => ({ index, state, job: of });
  const nodes = [
    {
      name: "v100",
      type: "V100",
      is_cordoned: false,
      gpus: [
        ...[0, 1, 2, 3].map((i) => gpu(i, "busy", 1)),
        ...[4, 5].map((i) => gpu(i, "busy", 2)),
        gpu(6, "stopping", 5),
        gpu(7, "idle"),
      ],
    },
    {
      name: "k80",
      type: "K80",
      is_cordoned: true,
      gpus: [gpu(8, "busy", 3), gpu(9, "down"), gpu(10, "closed"), gpu(11, "idle")],
    },
  ];
  const user = (name, tickets, held_gpus, entitled_gpus, jobs_running, jobs_waiting) => ({
    name,
    tickets,
    gpu_s: 20_000 + 60 * n * held_gpus,
    entitled_gpus,
    held_gpus,
    jobs_running,
    jobs_waiting,
  });
  const users = [
    user("ann", 2, 4, 4.8, 1, 1),
    user("bob", 1, 2, 2.4, 1, 1),
    user("cy", 1, 1, 2.4, 1, 1),
    user("dora-with-a-rather-long-account-name", 1, 0, 2.4, 0, 1),
  ];
  const cluster = {
    now_unix_ms: START_MS + 60_000 * n,
    policy: "gandiva-fair",
    policy_options: {},
    nodes,
    jobs_waiting: 4,
    jobs_running: 3,
  };
  return { "/v1/cluster": cluster, "/v1/jobs": { jobs }, "/v1/users": { users } };
}

// A server, its address, and its requests. `state` may be changed: answer(path, n) -> [status, body].
async function serve() {
  const state = { polls: 0, asked: [], answer: (path, n) => [200, world(n)[path]] };
  const server = createServer((request, response) => {
    state.asked.push(request);
    if (request.url === "/") {
      response.setHeader("Content-Type", "text/html; charset=utf-8");
      response.end(readFileSync(join(root, "fairlead/serve/page.html")));
      return;
    }
    if (request.url === "/v1/cluster") state.polls += 1;
    const [status, body] = state.answer(request.url, state.polls);
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(body));
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  state.address = `http://127.0.0.1:${server.address().port}/`;
  state.close = () => server.close();
  return state;
}

let browser, server;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

// Runs `look` on the page after as many polls, on a clock that only we move.
async function on({ polls = 1, hash = "", ...options }, look) {
  server = await serve();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(server.address) && !request.url().startsWith("data:")) faults.push(request.url());
  });
  await page.clock.install({ time: START_MS });
  await page.goto(server.address + hash);
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  for (let i = 1; i < polls; i++) await nextPoll(page);
  await look(page, faults);
  await context.close();
  server.close();
}

// Until the next poll was answered and shown.
async function nextPoll(page) {
  const answers = ["/v1/cluster", "/v1/jobs", "/v1/users"].map((path) => page.waitForResponse((r) => r.url().endsWith(path)));
  await page.clock.runFor(2000);
  await Promise.all(answers);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done())));
}

describe("the live page", () => {
  test("shows who has which GPU, the queue with its reasons, and the users", async () => {
    await on({}, async (page, faults) => {
      assert.deepEqual(await page.locator(".gpu.busy").count(), 8);
      assert.match(await page.locator(".gpu").nth(4).innerText(), /4 bob\s+#2 resnet-sweep-2/);
      assert.match(await page.locator(".gpu").nth(6).innerText(), /6 dora.*\s+#5 stopping/);
      assert.match(await page.locator("#gpus").innerText(), /k80 4 GPUs, K80, cordoned: no new jobs/);
      assert.match(await page.locator("#running li").first().innerText(), /62 %, about 22 min left/);
      const queue = await page.locator("#queue li").allInnerTexts();
      assert.equal(queue.length, 4);
      assert.match(queue[0], /#4 resnet-sweep-4 ann\s+8 GPUs, waiting, \d+ min old\s+waits for 8 GPUs of one node/);
      assert.match(await page.locator("#users li").first().innerText(), /ann\s+2 tickets, 5.6 GPU-hours\s+has 4 of 4.8/);
      assert.equal(await page.title(), "3 running, 4 waiting: Fairlead");
      assert.deepEqual(faults, []);
    });
  });

  test("takes no markup from names", async () => {
    await on({}, async (page) => {
      assert.match(await page.locator("#running li").nth(2).innerText(), /<img src=x onerror/);
      assert.equal(await page.locator("main img").count(), 0);
    });
  });

  test("draws the GPU-hours of each user since it was opened", async () => {
    await on({ polls: 31 }, async (page) => {
      const figure = page.locator("#chart svg");
      assert.equal(await figure.getAttribute("aria-label"), "ann: 2.00 GPU-hours, bob: 1.00 GPU-hours, cy: 0.50 GPU-hours");
      assert.equal(await figure.locator("path").count(), 3);
    });
  });

  test("leaves alone what has not changed", async () => {
    await on({}, async (page) => {
      await page.evaluate(() => (document.querySelector(".gpu").dataset.seen = "before"));
      await nextPoll(page);
      assert.equal(await page.locator(".gpu").first().getAttribute("data-seen"), "before");
    });
  });

  test("says that the server is gone, keeps what it knew, and goes on when it is back", async () => {
    await on({}, async (page) => {
      const answer = server.answer;
      server.answer = () => [503, { error: "the disk is full" }];
      await nextPoll(page);
      assert.match(await page.locator("#alert").innerText(), /does not answer as it should: the disk is full/);
      assert.equal(await page.locator(".gpu").count(), 12);
      server.answer = answer;
      await nextPoll(page);
      await page.waitForFunction(() => document.getElementById("alert").textContent === "");
    });
  });

  test("sends the token that its address names", async () => {
    await on({ hash: "#token=se%2Bcret" }, async () => {
      const asked = server.asked.filter((request) => request.url.startsWith("/v1/"));
      assert.ok(asked.length >= 3);
      for (const request of asked) assert.equal(request.headers.authorization, "Bearer se+cret");
    });
  });

  for (const [name, options] of Object.entries({
    light: { colorScheme: "light" },
    dark: { colorScheme: "dark" },
    narrow: { colorScheme: "light", viewport: { width: 400, height: 900 } },
  })) {
    test(`fits and can be read: ${name}`, async () => {
      const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
      await on({ polls: 20, ...options }, async (page) => {
        await page.screenshot({ path: join(out, `live-${name}.png`), fullPage: true });
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${overflow} px too wide`);
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => window.axe.run());
        const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
        assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 120)}`), []);
      });
    });
  }
});
